internal import APNs
internal import Lifecycle

/// A 128-bit key of a `CountTable`, for an id or for bytes. The key of an id is a permutation of the id, so two
/// ids never have the same key. The key of bytes is a hash, and a collision of two is improbable. Random
/// numbers of each process are mixed in, so that a client cannot easily prepare keys that collide.
struct Key128: Hashable, Sendable {
    /// Two random words of this process. `PushID` is only used as a pair of words here.
    private static let seed = PushID(
        high: .random(in: .min ... .max), low: .random(in: .min ... .max))

    let high: UInt64
    let low: UInt64

    /// A placeholder for an empty slot and for a push without a target. It is never compared with a real key.
    static let none = Key128(high: 0, low: 0)

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates the key of an id with a Feistel network of three rounds. Each round can be reversed, so the keys
    /// of two ids differ.
    init(_ id: PushID) {
        let low = id.low ^ SplitMix64.number(forState: id.high ^ Self.seed.high)
        let high = id.high ^ SplitMix64.number(forState: low ^ Self.seed.low)
        self.init(high: high, low: low ^ SplitMix64.number(forState: high))
    }

    init(_ text: String) { self.init(Array(text.utf8)) }

    /// Creates the key of bytes, from words of 8 bytes. The last word is filled with zeros.
    init(_ bytes: [UInt8]) {
        var high = Self.seed.high ^ UInt64(bytes.count)
        var low = Self.seed.low
        unsafe bytes.withUnsafeBytes { bytes in
            func mix(_ word: UInt64) {
                high = SplitMix64.number(forState: high ^ word)
                low = SplitMix64.number(forState: low &+ word) ^ high
            }
            let wholeWordsEnd = bytes.count / 8 * 8
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
