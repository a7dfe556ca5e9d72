/// A marker in a lane's `receipts`: a sender takes the lane over, and has not pushed yet. Everything that earlier
/// owners wrote before lies at lower offsets. It is a record without a value, so readers of outcomes skip it.
package struct TakeoverMarker: Sendable, Hashable {
    /// The name of the Kafka header, which holds the owner.
    package static let header: StaticString = "takeover"
    private static let radix = 16

    /// The random number of a sender's event loop. It is new at each start of a process.
    package let owner: UInt64

    package init(owner: UInt64) { self.owner = owner }

    /// The value of the header: hexadecimal digits.
    package var headerValue: [UInt8] { Array(String(owner, radix: Self.radix).utf8) }

    /// Reads the value of the header. Returns nil if it is damaged.
    package init?(headerValue: [UInt8]) {
        let text = String(decoding: headerValue, as: UTF8.self)
        guard let owner = UInt64(text, radix: Self.radix) else { return nil }
        self.init(owner: owner)
    }
}
