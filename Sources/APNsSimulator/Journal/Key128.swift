/// Stands for a text or for bytes in tables: 128 bits of two keyed hashes, so that two that differ share
/// one about as often as never.
struct Key128: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    static let none = Key128("")

    init(_ text: String) {
        self.init { $0.combine(text) }
    }

    init(_ bytes: [UInt8]) {
        self.init { hasher in unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) } }
    }

    private init(_ feed: (inout Hasher) -> Void) {
        var first = Hasher()
        first.combine(UInt8(1))
        feed(&first)
        var second = Hasher()
        second.combine(UInt8(2))
        feed(&second)
        high = UInt64(bitPattern: Int64(first.finalize()))
        low = UInt64(bitPattern: Int64(second.finalize()))
    }
}
