import Identifiers
import RecordFormat
import Registry
import Sends
import Simulation
import StageSupport
import Testing

@testable import FanOut

/// Proves that stored keys are unique, reversible and ordered as the pages need them.
struct ScopesRowOrderTests {
    private func stored(_ key: [UInt8]) -> [UInt8] {
        var stored: [UInt8] = []
        ScopesRowOrder.writeStoredKey(for: key.span, to: &stored)
        return stored
    }

    private func key(_ stored: [UInt8]) -> [UInt8] {
        var key: [UInt8] = []
        ScopesRowOrder.writeTopicKey(for: stored.span, to: &key)
        return key
    }

    @Test func `each key of starts has a unique stored key and is restored from it`() {
        var random = SeededGenerator(seed: UInt64.random(in: 0...UInt64.max))
        var topicKeyOfStored: [[UInt8]: [UInt8]] = [:]
        func name() -> String {
            String(
                (0...random.number(below: 6)).map { _ in
                    ["a", "/", "%", "7", "ö", "u:", "\u{0}"][random.number(below: 7)]
                }
                .joined())
        }
        for _ in 0..<trialCount(base: 20_000) {
            let recipient = random.number(below: 2) == 0 ? Recipient.user(name()) : .installation(name())
            let group = ScopeKey(app: "shop", group: name())
            let ledger = LedgerKey(
                app: "shop", subject: .group(name()), recipient: recipient,
                generation: Int64(random.number(below: 3)),
                installation: name()
            ).bytes
            let row = LedgerRow(version: 1, startedAt: Int64(random.number(below: 100)), type: name())
                .encoded()
            let activityStart = LedgerKey(
                app: "shop", subject: .activity(name()), recipient: recipient, generation: 1,
                installation: name())
            var keys = [
                activityStart.bytes,
                group.bytes, group.narrowed(to: recipient).bytes,
                ScopeKey(app: "shop", activity: name()).bytes,
                ledger,
                RecordKey.join("", "", "0123456789abcdef"),
            ]
            if let newest = NewestStart.row(forKey: ledger.span, value: row.span) { keys.append(newest.key) }
            var joined = LaneScope()
            joined.joinedGroup = group
            for (scopeKey, scope) in [
                (group.narrowed(to: recipient), LaneScope()),
                (ScopeKey(app: "shop", activity: name()), joined),
            ] {
                var row = DerivedRow()
                let (key, value) = (scopeKey.bytes, scope.encoded())
                if ScopesDerivation.writeRow(forKey: key.span, value: value.span, to: &row) {
                    keys.append(row.key)
                }
            }
            for topicKey in keys {
                let storedKey = stored(topicKey)
                #expect(key(storedKey) == topicKey)
                let knownKey = topicKeyOfStored.updateValue(topicKey, forKey: storedKey)
                #expect(knownKey == nil || knownKey == topicKey, "two keys have one stored key")
            }
        }
    }

    @Test
    func `the starts of a group are stored in the order in which a page walks its recipients`() {
        let keys = (0..<2000).map { number in
            let name = "user-\(number)"
            let key = LedgerKey(
                app: "shop", subject: .group("match"), recipient: .user(name), generation: 7,
                installation: "phone")
            return (bucket: RecipientBucket.bucket(of: Array(name.utf8).span), stored: stored(key.bytes))
        }
        let sorted = keys.sorted { $0.stored.lexicographicallyPrecedes($1.stored) }
        #expect(sorted.map(\.bucket) == keys.map(\.bucket).sorted())
    }

    @Test func `the newest start of a type is found by recipient and installation`() {
        func row(_ group: String, at: Int64) -> DerivedRow? {
            let key = LedgerKey(
                app: "shop", subject: .group(group), recipient: .user("u/1"), generation: 5, installation: "p"
            )
            return NewestStart.row(
                forKey: key.bytes.span,
                value: LedgerRow(version: 1, startedAt: at, type: "Match").encoded().span)
        }
        let name = NewestStart.key(
            app: "shop", recipient: .user("u/1"), installation: "p", type: "Match")
        guard let older = row("z", at: 10), let newer = row("a", at: 300) else {
            Issue.record("a start has no derived row")
            return
        }
        #expect(older.key == name && newer.key == name)
        #expect(NewestStart.isNewer(newer.value, than: older.value))
        #expect(NewestStart.decode(newer.value.span)?.key.group == "a")
        let otherName = NewestStart.key(
            app: "shop", recipient: .user("u"), installation: "p", type: "Match")
        #expect(otherName != name)
    }
}
