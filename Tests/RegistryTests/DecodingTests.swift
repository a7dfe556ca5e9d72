import Identifiers
import InstallationRecords
import JSON
import RecordFormat
import Simulation
import Testing

@testable import Registry

/// Tests of the readers that decode records and keys in place. They must give the same results as the readers that make
/// values, for valid and for invalid input.
struct DecodingTests {
    private let reader = JSONReader()

    /// Damages the text of a record or a key, usually a little.
    private func damage(_ bytes: inout [UInt8], using random: inout SeededGenerator) {
        for _ in 0..<random.number(below: 3) where !bytes.isEmpty {
            let position = random.number(below: bytes.count)
            switch random.number(below: 4) {
            case 0: bytes[position] ^= UInt8(1 << random.number(below: 8))
            case 1: bytes.remove(at: position)
            case 2: bytes.insert(bytes[random.number(below: bytes.count)], at: position)
            default:
                bytes.replaceSubrange(
                    position..<position,
                    with: Array([#"null"#, #"\u00e9"#, "é", "/", "%2F", "0"][random.number(below: 6)].utf8))
            }
        }
    }

    @Test func `the in-place reader of tokens accepts and rejects the same records with the same messages`()
        throws
    {
        var maker = RowMaker(random: SeededGenerator(seed: 3))
        var fields = TokenFields()
        var (acceptedCount, refusedCount) = (0, 0)
        for _ in 0..<trialCount(base: 5000) {
            var bytes = maker.row().encoded()
            damage(&bytes, using: &maker.random)
            let row: TokenRow
            do { row = try TokenRow.decode(bytes, with: reader) } catch {
                refusedCount += 1
                let inPlaceError = #expect(throws: RecordDecodingError.self) {
                    try fields.read(bytes.span, with: reader)
                }
                // The fields are checked in another order.
                func problems(_ error: RecordDecodingError?) -> Set<Substring> {
                    Set("\(error, default: "none")".split(separator: "; "))
                }
                #expect(problems(inPlaceError) == problems(error))
                continue
            }
            acceptedCount += 1
            try fields.read(bytes.span, with: reader)
            func text(_ part: Range<Int>?) -> [UInt8]? { part.map { Array(fields[$0]) } }
            #expect(text(fields.token) == Array((row.token ?? "").utf8))
            #expect(text(fields.tokenHash) == Array((row.tokenHash ?? "").utf8))
            #expect(text(fields.attributesType) == row.attributesType.map { Array($0.utf8) })
            #expect(text(fields.group) == row.group.map { Array($0.utf8) })
            #expect(text(fields.channel) == row.channel.map { Array($0.utf8) })
            #expect(text(fields.movedTo) == row.movedTo.map { Array($0.text.utf8) })
            #expect(fields.os == row.os.flatMap { OSVersion($0) })
            #expect(fields.isSandbox == (row.environment == .sandbox))
            #expect(fields.registeredAt == row.registeredAt && fields.expiresAt == row.expiresAt)
            #expect(fields.movedAt == row.movedAt && fields.dismissedAt == row.dismissedAt)
            #expect(fields.arrivedAt == row.arrivedAt && fields.isUnproven == row.isUnproven)
            #expect(fields.activitiesEnabled == row.activitiesEnabled)
            #expect(fields.frequentPushesEnabled == row.frequentPushesEnabled)
        }
        #expect(acceptedCount > 100 && refusedCount > 100)
    }

    @Test func `the in-place reader of keys finds the same parts as their own reader`() {
        var maker = RowMaker(random: SeededGenerator(seed: 4))
        var plainCount = 0
        for _ in 0..<trialCount(base: 5000) {
            var bytes = maker.key().bytes
            damage(&bytes, using: &maker.random)
            guard let parts = KeyParts(plain: bytes.span) else { continue }
            plainCount += 1
            let key = bytes.withUnsafeBytes { RegistryKey(bytes: $0) }
            guard let key else {
                Issue.record("accepted: \(String(decoding: bytes, as: UTF8.self))")
                return
            }
            func text(_ part: Range<Int>) -> String { String(decoding: bytes[part], as: UTF8.self) }
            #expect(text(parts.app) == key.app)
            #expect((parts.isUser ? "u:" : "i:") + text(parts.recipient) == key.recipient.text)
            #expect(text(parts.installation) == key.installation ?? "")
            switch key.entry {
            case .start(let type): #expect(parts.kind == .start && text(parts.name) == type ?? "")
            case .update(let activity): #expect(parts.kind == .update && text(parts.name) == activity)
            case .profile: #expect(parts.kind == .profile)
            }
            #expect(key.bytes == bytes)
        }
        #expect(plainCount > 100)
    }
}
