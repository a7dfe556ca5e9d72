/// The 16 bytes by which newer versions of the protocol name a topic. Zero means "none".
package struct TopicID: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package static let none = TopicID(high: 0, low: 0)

    static func random(using generator: inout some RandomNumberGenerator) -> TopicID {
        TopicID(high: generator.next(), low: generator.next() | 1)
    }
}
