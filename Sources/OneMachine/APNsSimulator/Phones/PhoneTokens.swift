internal import Identifiers

/// The conversion between push tokens and the phones that they belong to. A token encodes its phone, so a
/// million phones need no table of tokens. A token consists of words of 8 bytes, big-endian:
///
///     0    phone and index, masked
///     1    process number, kind, slot generation and token generation, masked
///     2…   check words, computed from the unmasked words 0 and 1
///
/// Word 2 is also the key of the masks. Check words and masks depend on the seed. Without it, tokens look
/// random and cannot be forged.
struct PhoneTokens: Sendable {
    /// The facts that a push token encodes: the phone, and which of the phone's tokens it is.
    struct Identity: Sendable, Hashable {
        enum TokenKind: UInt16 {
            case start = 1
            case update = 2
        }

        var kind: TokenKind
        var phone: Int
        /// Number of the phone's start token, or index of the activity.
        var index: Int
        /// For an activity: number of the use of its slot.
        var slotGeneration: UInt16 = 0
        /// Generation of the token.
        var generation: UInt16
        /// For an activity: `Phones.processNumber` of the process that has or had it.
        var processNumber: UInt16 = 0
    }

    /// Shortest token: words 0 and 1 and two check words.
    static let bytesMin = 32
    private static let wordBytes = 8
    /// "tokens!!" in ASCII. It makes tokens independent of the other random numbers of the seed.
    private static let seedMask: UInt64 = 0x746F_6B65_6E73_2121

    private let stableRandom: StableRandom
    private let byteCount: Int

    /// - Parameter byteCount: the length of each token, a multiple of 8.
    init(seed: UInt64, byteCount: Int) {
        precondition((Self.bytesMin...PushToken.bytesMax).contains(byteCount))
        precondition(byteCount.isMultiple(of: Self.wordBytes))
        stableRandom = StableRandom(seed: seed ^ Self.seedMask)
        self.byteCount = byteCount
    }

    func token(of identity: Identity) -> PushToken {
        let (first, second) = Self.words(of: identity)
        var tokenBytes: [UInt8] = []
        tokenBytes.reserveCapacity(byteCount)
        let maskKey = checkWord(0, first: first, second: second)
        append(first ^ mask(ofWord: 0, key: maskKey), to: &tokenBytes)
        append(second ^ mask(ofWord: 1, key: maskKey), to: &tokenBytes)
        for index in 0..<byteCount / Self.wordBytes - 2 {
            append(checkWord(index, first: first, second: second), to: &tokenBytes)
        }
        guard let token = PushToken(bytes: tokenBytes) else { preconditionFailure("the length was checked") }
        return token
    }

    /// Returns the identity, or nil for a token that was not created with this seed and length.
    func identity(of token: PushToken) -> Identity? {
        guard token.bytes.count == byteCount else { return nil }
        return unsafe token.bytes.withUnsafeBytes { tokenBytes in
            func word(at index: Int) -> UInt64 {
                unsafe UInt64(
                    bigEndian: tokenBytes.loadUnaligned(
                        fromByteOffset: index * Self.wordBytes, as: UInt64.self))
            }
            let maskKey = word(at: 2)
            let first = word(at: 0) ^ mask(ofWord: 0, key: maskKey)
            let second = word(at: 1) ^ mask(ofWord: 1, key: maskKey)
            for index in 2..<byteCount / Self.wordBytes
            where word(at: index) != checkWord(index - 2, first: first, second: second) {
                return nil
            }
            return Self.identity(firstWord: first, secondWord: second)
        }
    }

    /// Returns the mask of word 0 or 1.
    private func mask(ofWord index: UInt64, key: UInt64) -> UInt64 {
        stableRandom.number(for: key, and: index + 1)
    }

    /// Returns the check word with this index, from 0, of the unmasked words 0 and 1.
    private func checkWord(_ index: Int, first: UInt64, second: UInt64) -> UInt64 {
        stableRandom.number(for: first, and: second, with: UInt64(index))
    }

    private func append(_ word: UInt64, to tokenBytes: inout [UInt8]) {
        unsafe withUnsafeBytes(of: word.bigEndian) { unsafe tokenBytes.append(contentsOf: $0) }
    }

    /// Returns the unmasked words 0 and 1.
    private static func words(of identity: Identity) -> (first: UInt64, second: UInt64) {
        let first = UInt64(identity.phone) << 32 | UInt64(identity.index)
        let process = UInt64(identity.processNumber) << 48
        let kind = UInt64(identity.kind.rawValue) << 32
        let slotGeneration = UInt64(identity.slotGeneration) << 16
        return (first, process | kind | slotGeneration | UInt64(identity.generation))
    }

    /// Reads the unmasked words 0 and 1. Returns nil for an unknown kind.
    private static func identity(firstWord first: UInt64, secondWord second: UInt64) -> Identity? {
        guard let kind = Identity.TokenKind(rawValue: UInt16(truncatingIfNeeded: second >> 32)) else {
            return nil
        }
        return Identity(
            kind: kind, phone: Int(first >> 32), index: Int(first & 0xFFFF_FFFF),
            slotGeneration: UInt16(truncatingIfNeeded: second >> 16),
            generation: UInt16(truncatingIfNeeded: second),
            processNumber: UInt16(truncatingIfNeeded: second >> 48))
    }
}
