import CatalogRecords
import Identifiers
import InstallationRecords
import Lifecycle
import RecordFormat
import Testing

@testable import Ingest

/// Tests of erasures. Data that a user or a phone erases must not come back with a late report, and installations that
/// are silent for long are forgotten. Times are minutes.
@Suite struct ErasureTests {
    private let phone = Phone()
    /// In minutes, as all times here.
    private let day = 24 * 60

    /// Gives the phone tokens, a user, a profile, and two activities, of which one was dismissed.
    private func fill() {
        phone.startToken("aa", at: 0)
        phone.updateToken("bb", of: "A", group: "m1", at: 1)
        phone.send(.profile, at: 2) {
            $0.user = "anna"
            $0.tags = ["vip"]
        }
        phone.updateToken("cc", of: "B", group: "m1", at: 3)
        phone.state(.dismissed, of: "B", at: 4)
    }

    @Test func `an erased installation keeps no data, and no late report brings it back`() {
        fill()
        #expect(phone.rows.count > 4)
        phone.send(.erase, at: 10)
        #expect(phone.rows.isEmpty)
        let text = String(decoding: phone.run.installation?.encoded() ?? [], as: UTF8.self)
        for word in ["anna", "vip", "m1", "tokenHash"] { #expect(!text.contains(word), "\(text)") }
        phone.startToken("dd", at: 20, happened: 9)
        phone.send(.profile, at: 21, happened: 8) { $0.user = "anna" }
        phone.state(.dismissed, of: "C", at: 22, happened: 7)
        #expect(phone.rows.isEmpty)
        phone.startToken("ee", at: 30)
        #expect(phone.rows == ["i:i start:Match ee"])
        // The changes of all merges and the installations themselves lead to the same rows.
        #expect(phone.run.keysThatDiffer.isEmpty)
    }

    @Test func `a late erasure keeps the reports that came after its time`() {
        fill()
        phone.startToken("dd", type: "Order", at: 20)
        phone.send(.erase, at: 30, happened: 10)
        #expect(phone.rows == ["i:i start:Order dd"])
    }

    @Test func `an erased installation is forgotten when no older report can arrive`() {
        fill()
        phone.send(.erase, at: 10)
        // A phone can hold a report back for two days, and the topic can hold it back for eight.
        phone.sweep(at: 10 + 10 * day - 1)
        #expect(phone.run.installation?.erasedUpTo != nil)
        phone.sweep(at: 10 + 10 * day)
        #expect(phone.run.installation == nil && phone.run.registry.values.isEmpty)
    }

    @Test func `a user is erased only from the installations of that user`() {
        fill()
        let user = Recipient.user("anna")
        func erasures(at minutes: Int) -> ErasedUsers {
            var erasures = ErasedUsers()
            let time = ReportTime(claimed: nil, received: Phone.at(minutes), order: .first)
            let isAdded = erasures.add(user, of: "shop", upTo: time)
            #expect(isAdded)
            return erasures
        }
        phone.run.sweep(at: Phone.at(11), erasing: erasures(at: 1))
        #expect(phone.rows.contains("u:anna start:Match aa"), "anna logged in after the erasure")
        phone.run.sweep(at: Phone.at(12), erasing: erasures(at: 10))
        #expect(phone.rows.isEmpty)
        #expect(phone.run.installation?.recipient == .installation("i"))
        // The phone changed hands after the erased time, so its earlier user does not matter.
        phone.startToken("aa", at: 20)
        phone.send(.profile, at: 21) { $0.user = "ben" }
        phone.run.sweep(at: Phone.at(22), erasing: erasures(at: 10))
        #expect(phone.rows.contains("u:ben start:Match aa"))
        // The rows under the recipient that it left are erased too.
        phone.send(.profile, at: 23) { $0.user = "anna" }
        phone.send(.profile, at: 24) { $0.user = "ben" }
        #expect(phone.rows.contains("u:anna start:Match aa>u:ben"))
        phone.run.sweep(at: Phone.at(26), erasing: erasures(at: 25))
        #expect(phone.rows.contains("u:ben start:Match aa"))
        #expect(!phone.rows.contains { $0.hasPrefix("u:anna") })
        #expect(phone.run.keysThatDiffer.isEmpty)
    }

    @Test func `a search of a record finds an erased user, also with escaped characters, and skips others`()
        throws
    {
        var erasures = ErasedUsers()
        let time = ReportTime(claimed: nil, received: Phone.at(10), order: .first)
        let names = [#"an"na"#, "bo\nb"]
        for name in names { _ = erasures.add(.user(name), of: "shop", upTo: time) }
        func mayConcern(_ user: String, app: String = "shop") -> Bool {
            var installation = Installation(app: "shop", subject: .installation("i"))
            installation.user = Timestamped(.user(user), at: time)
            return erasures.mayConcern(installation.encoded().span, of: app)
        }
        for name in names { #expect(mayConcern(name)) }
        #expect(!mayConcern("anna") && !mayConcern("carl"))
        #expect(!mayConcern(names[0], app: "bank"))
        for number in 0..<20 { _ = erasures.add(.user("user-\(number)"), of: "shop", upTo: time) }
        #expect(mayConcern("user-19"), "no user is overlooked when there are many")
    }

    @Test func `the rows of erased users sort before all installations of their app`() {
        let key = ErasedUsers.key(app: "shop", user: "anna")
        #expect(key.lexicographicallyPrecedes(Installation(app: "shop", subject: .installation("!")).key))
        #expect(key != Installation(app: "shop", subject: .user("anna")).key)
    }

    @Test
    func `an erasure that arrives after an older login undoes it, and the installation has its tokens again`()
    {
        phone.startToken("aa", at: 20)
        phone.send(.heartbeat, at: 30, happened: 5) { $0.user = "anna" }
        phone.send(.erase, at: 10)
        #expect(phone.rows == ["i:i start:Match aa"])
        #expect(phone.run.installation?.formerRecipients.isEmpty == true && phone.run.keysThatDiffer.isEmpty)
    }

    @Test func `an installation without a start token is forgotten after a long silence`() {
        let silence = Int(Retention.tokenlessMilliseconds / Phone.minute)
        phone.send(.profile, at: 0) { $0.tags = ["vip"] }
        phone.send(.heartbeat, at: day)
        phone.sweep(at: silence)
        #expect(phone.rows == ["i:i profile vip"])
        phone.sweep(at: day + silence)
        #expect(phone.run.installation == nil && phone.run.registry.values.isEmpty)
        phone.startToken("aa", at: 2 * silence)
        phone.sweep(at: 4 * silence)
        #expect(phone.rows == ["i:i start:Match aa"], "a start token does not expire")
    }

    @Test func `an app that is missing from the catalog keeps its installations for a while`() {
        let (app, hour) = (History.app, 3_600_000)
        let mergers = ReportMergers(sealingKeys: nil, tokenlessMilliseconds: 1) { [app.id: app] }
        let now = Instant.now()
        func isMissing(after milliseconds: Int) -> Bool {
            mergers.isMissing(
                app: "bank", forMilliseconds: hour, now: now.advanced(byMilliseconds: milliseconds))
        }
        #expect(!isMissing(after: 0))
        #expect(!isMissing(after: hour - 1))
        #expect(isMissing(after: hour))
        mergers.refresh()
        #expect(!mergers.isMissing(app: "shop", forMilliseconds: 0, now: now))
    }

    @Test func `before the catalog is read no app is missing`() {
        let mergers = ReportMergers(sealingKeys: nil, tokenlessMilliseconds: 1) { nil }
        for _ in 0..<2 { #expect(!mergers.isMissing(app: "bank", forMilliseconds: 0)) }
    }

    @Test func `the tombstones of an installation delete all of its rows`() throws {
        fill()
        let installation = try #require(phone.run.installation)
        let tombstones = ReportMerger.tombstones(of: installation)
        #expect(tombstones.installation == nil)
        #expect(tombstones.changes.allSatisfy { $0.row == nil })
        #expect(Set(tombstones.changes.map(\.key)) == Set(phone.run.registry.keys))
    }
}
