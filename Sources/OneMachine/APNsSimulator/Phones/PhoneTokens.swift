internal import LiveActivity

/// Push tokens that encode their identity. A token is computed from its identity and can be decoded again, so
/// a million phones need no table of tokens. Creating a token, or recognizing two tokens of one phone, needs
/// the seed.
struct PhoneTokens: Sendable {
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
        var generation: UInt16
        /// For an activity: number of the process with this seed that has or had it.
        var processNumber: UInt16 = 0
    }

    static let bytesMin = 32

    private let stableRandom: StableRandom
    private let bytes: Int

    init(seed: UInt64, bytes: Int) {
        precondition((Self.bytesMin...PushToken.bytesMax).contains(bytes) && bytes.isMultiple(of: 8))
        stableRandom = StableRandom(seed: seed ^ 0x746F_6B65_6E73_2121)
        self.bytes = bytes
    }

    func token(of identity: Identity) -> PushToken {
        let (first, second) = Self.words(of: identity)
        var out: [UInt8] = []
        out.reserveCapacity(bytes)
        let mask = stableRandom.number(for: first, and: second, with: 0)
        append(first ^ stableRandom.number(for: mask, and: 1), to: &out)
        append(second ^ stableRandom.number(for: mask, and: 2), to: &out)
        for index in 0..<UInt64(bytes / 8 - 2) {
            append(stableRandom.number(for: first, and: second, with: index), to: &out)
        }
        guard let token = PushToken(bytes: out) else { preconditionFailure("the length was checked") }
        return token
    }

    /// Returns the identity, or nil for a token that was not created here.
    func identity(of token: PushToken) -> Identity? {
        guard token.bytes.count == bytes else { return nil }
        return unsafe token.bytes.withUnsafeBytes { raw in
            func word(at index: Int) -> UInt64 {
                unsafe UInt64(bigEndian: raw.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
            }
            let mask = word(at: 2)
            let first = word(at: 0) ^ stableRandom.number(for: mask, and: 1)
            let second = word(at: 1) ^ stableRandom.number(for: mask, and: 2)
            for index in 2..<bytes / 8
            where word(at: index) != stableRandom.number(for: first, and: second, with: UInt64(index - 2)) {
                return nil
            }
            return Self.identity(firstWord: first, secondWord: second)
        }
    }

    private func append(_ word: UInt64, to out: inout [UInt8]) {
        unsafe withUnsafeBytes(of: word.bigEndian) { unsafe out.append(contentsOf: $0) }
    }

    private static func words(of identity: Identity) -> (UInt64, UInt64) {
        (
            UInt64(identity.phone) << 32 | UInt64(identity.index),
            UInt64(identity.processNumber) << 48 | UInt64(identity.kind.rawValue) << 32 | UInt64(
                identity.slotGeneration) << 16
                | UInt64(identity.generation)
        )
    }

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
