/// The id of a topic, which newer versions of the protocol use in place of its name. It has 16 bytes, and
/// zero stands for no topic.
package struct TopicID: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package static let none = TopicID(high: 0, low: 0)

    static func random(using generator: inout some RandomNumberGenerator) -> TopicID {
        // Never zero.
        TopicID(high: generator.next(), low: generator.next() | 1)
    }
}
