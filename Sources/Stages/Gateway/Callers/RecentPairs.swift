package import Lifecycle

/// The pairs of installation and address that were seen in the last one to two windows, in a fixed memory: a Bloom
/// filter for the current window and one for the window before.
///
/// A pair that was seen is always found. A pair that was not seen may be found too: less than 1 in 100 with five
/// million pairs in a window, and 1 in 4 with twenty million. `InstallationQuota` then charges nothing. So a busy
/// gateway charges too few installations, and never refuses a phone that it knows.
package struct RecentPairs: Sendable {
    /// The words of one filter, 8 MiB. A pair sets its bits in one word, so that a lookup costs one access to memory.
    package static let wordsMax = 1 << 20
    private static let bitsPerPair = 4
    /// The number of bits of a hash that choose one of the 64 bits of a word.
    private static let bitIndexWidth = 6
    private static let bitIndexMask: UInt64 = 63

    private let windowMilliseconds: Int
    /// The filters. A filter without a pair has no words, so that a gateway without such reports uses no memory.
    private var recent: [UInt64] = []
    private var older: [UInt64] = []
    private var rotatedAt: Instant

    package init(windowMilliseconds: Int, now: Instant) {
        self.windowMilliseconds = windowMilliseconds
        rotatedAt = now
    }

    /// Whether the pair was seen. A pair that is found counts as seen again.
    package mutating func contains(_ hash: UInt64, now: Instant) -> Bool {
        rotate(now: now)
        if Self.contains(hash, in: recent) { return true }
        guard Self.contains(hash, in: older) else { return false }
        insert(hash)
        return true
    }

    package mutating func insert(_ hash: UInt64) {
        if recent.isEmpty { recent = [UInt64](repeating: 0, count: Self.wordsMax) }
        recent[Self.wordIndex(of: hash)] |= Self.mask(of: hash)
    }

    private mutating func rotate(now: Instant) {
        let age = now.milliseconds(since: rotatedAt)
        guard age >= windowMilliseconds else { return }
        older = age >= 2 * windowMilliseconds ? [] : recent
        recent = []
        rotatedAt = now
    }

    private static func contains(_ hash: UInt64, in words: [UInt64]) -> Bool {
        if words.isEmpty { return false }
        let mask = mask(of: hash)
        return words[wordIndex(of: hash)] & mask == mask
    }

    /// The word of a pair: the bits of the hash above those that `mask` uses choose it.
    private static func wordIndex(of hash: UInt64) -> Int {
        Int(truncatingIfNeeded: hash >> UInt64(bitsPerPair * bitIndexWidth)) & (wordsMax - 1)
    }

    /// The bits of a pair in its word. The lowest bits of the hash choose them.
    private static func mask(of hash: UInt64) -> UInt64 {
        var mask: UInt64 = 0
        for index in 0..<bitsPerPair {
            let bitIndex = hash >> UInt64(index * bitIndexWidth) & bitIndexMask
            mask |= 1 << bitIndex
        }
        return mask
    }
}
