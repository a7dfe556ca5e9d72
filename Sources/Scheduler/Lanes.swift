internal import Kafka

/// Where records lie, by their keys.
struct Lanes: Sendable {
    let count: Int

    func partition(of key: [UInt8]) -> Int32 { Int32(Murmur2.partition(of: key.span, of: count)) }
}
