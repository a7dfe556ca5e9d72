internal import LiveActivity

/// Push tokens that encode their identity. A token is computed from its identity and can be decoded again, so
/// a million phones need no table of tokens. Creating a token, or recognizing two tokens of one phone, needs
/// the seed.
struct PhoneTokens: Sendable {
    struct Identity: Sendable, Hashable {
        enum Kind: UInt16 {
            case start = 1
            case update = 2
        }

        var kind: Kind
        var phone: Int
        /// Number of the phone's start token, or index of the activity.
        var index: Int
        /// For an activity: number of the use of its slot.
        var life: UInt16 = 0
        var generation: UInt16
        /// For an activity: number of the process with this seed that has or had it.
        var run: UInt16 = 0
    }

    static let bytesMin = 32

    private let mixing: Mixing
    private let bytes: Int

    init(seed: UInt64, bytes: Int) {
        precondition((Self.bytesMin...PushToken.bytesMax).contains(bytes) && bytes.isMultiple(of: 8))
        mixing = Mixing(seed: seed ^ 0x746F_6B65_6E73_2121)
        self.bytes = bytes
    }

    func token(of identity: Identity) -> PushToken {
        let (first, second) = Self.words(identity)
        var out: [UInt8] = []
        out.reserveCapacity(bytes)
        let mask = mixing.number(first, and: second, with: 0)
        append(first ^ mixing.number(mask, and: 1), to: &out)
        append(second ^ mixing.number(mask, and: 2), to: &out)
        for index in 0..<UInt64(bytes / 8 - 2) {
            append(mixing.number(first, and: second, with: index), to: &out)
        }
        guard let token = PushToken(bytes: out) else { preconditionFailure("the length was checked") }
        return token
    }

    /// Returns the identity, or nil for a token that was not created here.
    func identity(of token: PushToken) -> Identity? {
        guard token.bytes.count == bytes else { return nil }
        return unsafe token.bytes.withUnsafeBytes { raw in
            func word(_ index: Int) -> UInt64 {
                unsafe UInt64(bigEndian: raw.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
            }
            let mask = word(2)
            let first = word(0) ^ mixing.number(mask, and: 1)
            let second = word(1) ^ mixing.number(mask, and: 2)
            for index in 2..<bytes / 8
            where word(index) != mixing.number(first, and: second, with: UInt64(index - 2)) {
                return nil
            }
            return Self.identity(first, second)
        }
    }

    private func append(_ word: UInt64, to out: inout [UInt8]) {
        unsafe withUnsafeBytes(of: word.bigEndian) { unsafe out.append(contentsOf: $0) }
    }

    private static func words(_ identity: Identity) -> (UInt64, UInt64) {
        (
            UInt64(identity.phone) << 32 | UInt64(identity.index),
            UInt64(identity.run) << 48 | UInt64(identity.kind.rawValue) << 32 | UInt64(identity.life) << 16
                | UInt64(identity.generation)
        )
    }

    private static func identity(_ first: UInt64, _ second: UInt64) -> Identity? {
        guard let kind = Identity.Kind(rawValue: UInt16(truncatingIfNeeded: second >> 32)) else { return nil }
        return Identity(
            kind: kind, phone: Int(first >> 32), index: Int(first & 0xFFFF_FFFF),
            life: UInt16(truncatingIfNeeded: second >> 16), generation: UInt16(truncatingIfNeeded: second),
            run: UInt16(truncatingIfNeeded: second >> 48))
    }
}
