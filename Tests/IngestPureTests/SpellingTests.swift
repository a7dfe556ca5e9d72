import Identifiers
import InstallationRecords
import Testing

@testable import Ingest

/// Names are compared as bytes. Swift treats two spellings of a text as equal, and a letter with its combining accent
/// as one character.
@Suite struct SpellingTests {
    /// The same name with one character for é, and with an e and a combining accent.
    private static let (composed, decomposed) = ("Ren\u{E9}", "Rene\u{301}")

    @Test func `a user in another spelling is another user, in any order of arrival`() {
        #expect(Self.composed == Self.decomposed)
        func rows(_ order: [(user: String, happened: Int)]) -> [[UInt8]] {
            let phone = Phone()
            phone.startToken("aa", at: 0, happened: 0)
            for (index, login) in order.enumerated() {
                phone.send(.profile, at: index + 10, happened: login.happened) { $0.user = login.user }
            }
            phone.sweep(at: 60 * 25)
            return phone.run.registry.keys.filter { $0.entry != .profile }.map(\.bytes)
        }
        let later = RecordKey.join("shop", "u:" + Self.decomposed, "i", "start:Match")
        #expect(rows([(Self.composed, 1), (Self.decomposed, 2)]) == [later])
        #expect(rows([(Self.decomposed, 2), (Self.composed, 1)]) == [later])
    }

    @Test func `tags and groups in another spelling are written`() {
        let phone = Phone()
        phone.updateToken("bb", of: "A", group: Self.composed, at: 0)
        phone.send(.profile, at: 1) { $0.tags = [Self.composed] }
        phone.updateToken("bb", of: "A", group: Self.decomposed, at: 2)
        phone.send(.profile, at: 3) { $0.tags = [Self.decomposed] }
        #expect(phone.row("update:A")?.group.map { Array($0.utf8) } == Array(Self.decomposed.utf8))
        let profile = phone.run.registry.first { $0.key.entry == .profile }?.value
        guard case .profile(let row) = profile else {
            Issue.record("no profile")
            return
        }
        #expect(row.tags?.map { Array($0.utf8) } == [Array(Self.decomposed.utf8)])
    }

    @Test func `an id may begin with a combining character`() {
        for first in ["\u{301}", "\u{200D}", "\u{FE0F}", "\u{1F3FD}"] {
            let phone = Phone()
            phone.send(.startToken, at: 0) {
                $0.token = "aa"
                $0.attributesType = first + "Match"
                $0.user = first + "alice"
            }
            phone.updateToken("bb", of: first + "A", at: 1)
            // The run reads each record back and fails if it differs.
            #expect(phone.run.registry.count == 2)
            for key in phone.run.registry.keys {
                let read = unsafe key.bytes.withUnsafeBytes { unsafe RegistryKey(bytes: $0) }
                #expect(read == key)
            }
        }
    }
}
