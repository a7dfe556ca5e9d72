import JSON
import LiveActivity
import Simulation
import Testing

@testable import Registry

/// What reads records in place, against what reads them into values.
struct DecodingTests {
    private let reader = JSONReader()

    /// Damages a text of a record or a key, mostly a little.
    private func damage(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        for _ in 0..<random.below(3) where !bytes.isEmpty {
            let place = random.below(bytes.count)
            switch random.below(4) {
            case 0: bytes[place] ^= UInt8(1 << random.below(8))
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(bytes[random.below(bytes.count)], at: place)
            default:
                bytes.replaceSubrange(
                    place..<place,
                    with: Array([#"null"#, #"\u00e9"#, "é", "/", "%2F", "0"][random.below(6)].utf8))
            }
        }
    }

    @Test func `a token is taken and refused as its record is, in the same words`() throws {
        var maker = RowMaker(random: SeededGenerator(3))
        var fields = TokenFields()
        var (taken, refused) = (0, 0)
        for _ in 0..<trials(5000) {
            var bytes = maker.row().encoded()
            damage(&bytes, &maker.random)
            let row: TokenRow
            do { row = try TokenRow.decode(bytes, with: reader) } catch {
                refused += 1
                let other = #expect(throws: RecordError.self) { try fields.read(bytes.span, with: reader) }
                // Fields are looked at in another order.
                func words(_ error: RecordError?) -> Set<Substring> {
                    Set("\(error, default: "none")".split(separator: "; "))
                }
                #expect(words(other) == words(error))
                continue
            }
            taken += 1
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
            #expect(fields.movedInAt == row.movedInAt)
            #expect(fields.activitiesEnabled == row.activitiesEnabled)
            #expect(fields.frequentPushesEnabled == row.frequentPushesEnabled)
        }
        #expect(taken > 100 && refused > 100)
    }

    @Test func `what reads keys in place takes no other parts out of them than their own reader`() {
        var maker = RowMaker(random: SeededGenerator(4))
        var plain = 0
        for _ in 0..<trials(5000) {
            var bytes = maker.key().bytes
            damage(&bytes, &maker.random)
            guard let parts = KeyParts(plain: bytes.span) else { continue }
            plain += 1
            let key = bytes.withUnsafeBytes { RegistryKey(bytes: $0) }
            guard let key else {
                Issue.record("taken: \(String(decoding: bytes, as: UTF8.self))")
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
        #expect(plain > 100)
    }
}
