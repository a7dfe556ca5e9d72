internal import APNs
internal import Lifecycle

/// A 128-bit key of a `CountTable`, for an id, a text or bytes. It is mixed with secret random numbers, so
/// that collisions are practically impossible. Two ids never have the same key.
struct Key128: Hashable, Sendable {
    private static let secret = PushID(
        high: .random(in: .min ... .max), low: .random(in: .min ... .max))

    let high: UInt64
    let low: UInt64

    /// The key of an empty slot.
    static let none = Key128(high: 0, low: 0)

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates the key of an id. Each step can be reversed, so two ids never have the same key.
    init(_ id: PushID) {
        let low = id.low ^ SplitMix64.number(forState: id.high ^ Self.secret.high)
        let high = id.high ^ SplitMix64.number(forState: low ^ Self.secret.low)
        self.init(high: high, low: low ^ SplitMix64.number(forState: high))
    }

    init(_ text: String) { self.init(Array(text.utf8)) }

    /// Creates the key of bytes, from words of 8 bytes. The last word is filled with zeros.
    init(_ bytes: [UInt8]) {
        var high = Self.secret.high ^ UInt64(bytes.count)
        var low = Self.secret.low
        unsafe bytes.withUnsafeBytes { bytes in
            func mix(_ word: UInt64) {
                high = SplitMix64.number(forState: high ^ word)
                low = SplitMix64.number(forState: low &+ word) ^ high
            }
            let wholeWordsEnd = bytes.count & ~7
            for start in stride(from: 0, to: wholeWordsEnd, by: 8) {
                mix(unsafe bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self))
            }
            guard wholeWordsEnd < bytes.count else { return }
            var lastWord: UInt64 = 0
            unsafe withUnsafeMutableBytes(of: &lastWord) {
                unsafe $0.copyBytes(from: bytes[wholeWordsEnd...])
            }
            mix(lastWord)
        }
        self.init(high: high, low: low)
    }
}
