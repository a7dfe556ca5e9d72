internal import Glibc
internal import Identifiers
internal import InstallationRecords
internal import RecordFormat
internal import Simulation
internal import TokenSealing

/// The registry records of one lane in random order, in a file that is mapped into memory. A record is the
/// length of its key, the length of its value (32 bits each), the key and the value. Every installation has a
/// start token and an update token, and every fifth has a profile. Two fifths of the update tokens are in one
/// group, the rest in 4,000 small groups.
@safe final class RegistryRows {
    static let largeGroup = "match-2026-11-20-final"
    private static let smallGroups = 4000
    private static let headBytes = 8

    /// The smallest number of tokens with which each kind of row exists.
    static let tokensMin = 10

    let tokenCount: Int
    /// The number of records: tokens and profiles.
    let count: Int
    /// The size of the file.
    private(set) var byteCount = 0
    private let path: String
    private let mapping: UnsafeRawPointer

    var largeGroupTokenCount: Int { tokenCount / 5 }

    init(tokenCount: Int, directory: String) throws {
        self.tokenCount = tokenCount
        let installations = tokenCount / 2
        count = tokenCount + installations / 5
        path = directory + "/records"
        guard let file = unsafe fopen(path, "w") else { throw BenchmarkFailure("cannot write \(path)") }
        let seal = TokenSeal(keys: nil)
        for step in 0..<count {
            // A permutation: each number occurs once, because the factor is a prime.
            let (key, value) = Self.makeRecord(
                number: Int(UInt64(step) &* 2_654_435_761 % UInt64(count)), installations: installations,
                tokenCount: tokenCount, seal: seal)
            var head = (UInt32(key.count), UInt32(value.count))
            unsafe fwrite(&head, Self.headBytes, 1, file)
            unsafe fwrite(key, 1, key.count, file)
            unsafe fwrite(value, 1, value.count, file)
            byteCount += Self.headBytes + key.count + value.count
        }
        unsafe fclose(file)
        let descriptor = unsafe open(path, O_RDONLY)
        guard let map = unsafe mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, 0),
            unsafe map != MAP_FAILED
        else { throw BenchmarkFailure("cannot map \(path)") }
        close(descriptor)
        unsafe mapping = UnsafeRawPointer(map)
    }

    deinit {
        unsafe munmap(UnsafeMutableRawPointer(mutating: mapping), byteCount)
        unsafe unlink(path)
    }

    /// Calls `body` with key, value and offset of each record, up to the limit.
    func forEachRow(limit: Int = .max, body: (Span<UInt8>, Span<UInt8>, Int64) throws -> Void) rethrows {
        var position = 0
        for offset in 0..<min(count, limit) {
            let keyBytes = unsafe Int(mapping.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            let valueBytes = unsafe Int(mapping.loadUnaligned(fromByteOffset: position + 4, as: UInt32.self))
            let start = unsafe (mapping + position + Self.headBytes).assumingMemoryBound(to: UInt8.self)
            try body(
                unsafe Span(_unsafeStart: start, count: keyBytes),
                unsafe Span(_unsafeStart: start + keyBytes, count: valueBytes),
                Int64(offset))
            position += Self.headBytes + keyBytes + valueBytes
        }
    }

    /// Returns the key and the value of a record. The numbers below `installations` are start tokens, the next ones
    /// below `tokenCount` are update tokens, and the others are profiles.
    private static func makeRecord(
        number: Int, installations: Int, tokenCount: Int, seal: TokenSeal
    ) -> ([UInt8], [UInt8]) {
        let index = number % installations
        var random = SeededGenerator(seed: UInt64(number) &* 77 &+ 5)
        let installation = makeUUID(high: UInt64(index) &* 0x9E37_79B9_7F4A_7C15, low: UInt64(index))
        // Half of the phones have a logged-in user.
        let recipient: Recipient =
            index % 2 == 0 ? .user("user-\(10_000_000 + index)") : .installation(installation)
        var key = RegistryKey(
            app: "matchday", recipient: recipient, installation: installation, entry: .profile)
        if number >= tokenCount {
            var profile = ProfileRow(tags: ["tag\(index % 10)", "fan"], updatedAt: 1_763_600_000_000)
            profile.locale = "tr_TR"
            profile.os = "18.1"
            return (key.bytes, profile.encoded())
        }
        let isStart = number < installations
        key.entry =
            isStart
            ? .start(type: "MatchAttributes")
            : .update(activity: makeUUID(high: random.next(), low: random.next()))
        let token = PushToken(bytes: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })!
        var row = TokenRow(
            environment: .production, token: seal.seal(token, app: key.app, entry: key.entry.text),
            tokenHash: String(decoding: Hex.encode(seal.hash(of: token)), as: UTF8.self),
            attributesType: "MatchAttributes", registeredAt: 1_763_632_800_000 + Int64(index % 1_000_000))
        row.os = "18.1.1"
        row.frequentPushesEnabled = true
        row.activitiesEnabled = true
        if !isStart {
            row.group = index % 5 < 2 ? largeGroup : "match-\(index % smallGroups)"
            row.expiresAt = 1_763_719_200_000
        }
        return (key.bytes, row.encoded())
    }

    private static func makeUUID(high: UInt64, low: UInt64) -> String {
        var highDigits = String(high, radix: 16, uppercase: true)
        highDigits = String(repeating: "0", count: 16 - highDigits.count) + highDigits
        var lowDigits = String(low, radix: 16, uppercase: true)
        lowDigits = String(repeating: "0", count: 16 - lowDigits.count) + lowDigits
        let all = Array((highDigits + lowDigits).utf8)
        func part(in range: Range<Int>) -> String { String(decoding: all[range], as: UTF8.self) }
        return
            "\(part(in: 0..<8))-\(part(in: 8..<12))-\(part(in: 12..<16))-\(part(in: 16..<20))-\(part(in: 20..<32))"
    }
}
