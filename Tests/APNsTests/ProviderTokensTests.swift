import Cryptography
import Foundation
import Lifecycle
import ProcessTesting
import Synchronization
import TLS
import Telemetry
import Testing

@testable import APNs

private let name = ProviderKeyName(teamID: "TEAM123456", keyID: "KEY1234567")

/// Returns the instant this many minutes after the start.
private func minutes(_ count: Int) -> Instant { Instant(nanoseconds: Int64(count) * 60_000_000_000) }

/// A directory of keys, as an operator lays it out: a folder for each team, with a file for each key.
private struct KeyDirectory {
    let directory: TemporaryDirectory
    /// The path of the one key.
    let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.filePath(named: "TEAM123456/AuthKey_KEY1234567.p8")
        try FileManager.default.createDirectory(
            atPath: directory.filePath(named: "TEAM123456"), withIntermediateDirectories: true)
    }

    /// Replaces the file of the key in one step.
    func put(_ text: String, mode: Int = 0o600) throws {
        let newPath = path + ".new"
        try text.write(toFile: newPath, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: newPath)
        guard rename(newPath, path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    /// Returns tokens with a wall clock that follows the steady clock, unless a test steps it.
    func tokens(
        wall: @escaping @Sendable (Instant) -> WallTime = {
            WallTime(nanoseconds: 1_700_000_000_000_000_000 + $0.nanoseconds)
        }
    ) -> ProviderTokens {
        ProviderTokens(source: .directory(directory.path), metrics: Metrics()) {
            ProviderClocks(trusted: wall($0))
        }
    }
}

/// The provider tokens of the keys in a directory. `reload` reads the files and returns their problems. `bearer`
/// returns the token of a key, and makes it if it is missing or 50 minutes old. APNs allows one new token in 20
/// minutes.
@Suite struct ProviderTokensTests {
    @Test func `a key in its team's directory is found, and its token is made once`() throws {
        let keys = try KeyDirectory()
        try keys.put(SigningKey().pem)
        let tokens = keys.tokens()
        #expect(tokens.bearer(for: name, at: minutes(0)) == nil, "no file was read yet")
        #expect(tokens.reload().isEmpty)
        let first = try #require(tokens.bearer(for: name, at: minutes(0)))
        #expect(first.text.hasPrefix("bearer eyJ"))
        #expect(tokens.bearer(for: name, at: minutes(49))?.text == first.text)
        let second = try #require(tokens.bearer(for: name, at: minutes(50)))
        #expect(second.text != first.text && second.revision > first.revision)
        #expect(second.keyRevision == first.keyRevision)
        #expect(
            tokens.bearer(for: ProviderKeyName(teamID: "TEAM123456", keyID: "OTHER12345"), at: minutes(0))
                == nil)
    }

    @Test func `neither description nor dump of a bearer shows its token`() throws {
        let keys = try KeyDirectory()
        try keys.put(SigningKey().pem)
        let tokens = keys.tokens()
        tokens.reload()
        let bearer = try #require(tokens.bearer(for: name, at: minutes(0)))
        var dumped = ""
        dump(bearer, to: &dumped)
        #expect(!dumped.contains("eyJ") && !"\(bearer)".contains("eyJ"))
    }

    @Test func `a key that others can read is refused with a remedy`() throws {
        let keys = try KeyDirectory()
        try keys.put(SigningKey().pem, mode: 0o644)
        let problems = keys.tokens().reload()
        #expect(problems.count == 1)
        #expect(
            problems[0].description.contains("can be read by others")
                && problems[0].description.contains("chmod o="))
    }

    @Test func `a certificate is refused with the reason`() throws {
        let keys = try KeyDirectory()
        try keys.put(CertificateAuthority(name: "Apple Push Services").certificatePEM)
        let problems = keys.tokens().reload()
        #expect(problems.count == 1 && problems[0].description.contains("accepts no certificate"))
        let files = ProviderTokens(source: .files([name: "/keys/push.p12"]), metrics: Metrics())
        #expect(files.reload().first?.description.contains("accepts no certificate") == true)
    }

    @Test func `a problem is reported once, and again when the file has changed`() throws {
        let keys = try KeyDirectory()
        try keys.put("not a key")
        let tokens = keys.tokens()
        #expect(tokens.reload().count == 1)
        #expect(tokens.reload().isEmpty)
        try keys.put("still not a key")
        #expect(tokens.reload().count == 1)
        try keys.put(SigningKey().pem)
        #expect(tokens.reload().isEmpty)
        #expect(tokens.bearer(for: name, at: minutes(0)) != nil)
    }

    @Test func `a different key in the file is used at once, and the same key changes nothing`() throws {
        let keys = try KeyDirectory()
        let pem = SigningKey().pem
        try keys.put(pem)
        let tokens = keys.tokens()
        tokens.reload()
        let first = try #require(tokens.bearer(for: name, at: minutes(0)))
        try keys.put(pem)
        tokens.reload()
        #expect(tokens.bearer(for: name, at: minutes(1))?.text == first.text)
        try keys.put(SigningKey().pem)
        tokens.reload()
        let other = try #require(tokens.bearer(for: name, at: minutes(1)))
        #expect(other.keyRevision != first.keyRevision && other.text != first.text)
    }

    @Test func `a key that becomes unreadable stays in use, and a removed key does not`() throws {
        let keys = try KeyDirectory()
        try keys.put(SigningKey().pem)
        let tokens = keys.tokens()
        tokens.reload()
        try keys.put("half a k")
        #expect(tokens.reload().count == 1)
        #expect(tokens.bearer(for: name, at: minutes(0)) != nil)
        try FileManager.default.removeItem(atPath: keys.path)
        tokens.reload()
        #expect(tokens.bearer(for: name, at: minutes(0)) == nil)
    }

    @Test func `a stepped clock causes one token, and after the step back the previous token is used again`()
        throws
    {
        let keys = try KeyDirectory()
        try keys.put(SigningKey().pem)
        let wall = Mutex(WallTime(milliseconds: 1_700_000_000_000))
        let tokens = keys.tokens { _ in wall.withLock { $0 } }
        tokens.reload()
        let first = tokens.bearer(for: name, at: minutes(0))
        wall.withLock { $0 = WallTime(milliseconds: 1_800_000_000_000) }
        let second = tokens.bearer(for: name, at: minutes(1))
        #expect(second?.text != first?.text && second?.earlyTokenCount != first?.earlyTokenCount)
        wall.withLock { $0 = WallTime(milliseconds: 1_900_000_000_000) }
        #expect(
            tokens.bearer(for: name, at: minutes(2))?.text == second?.text,
            "a second step within 20 minutes causes no token")
        wall.withLock { $0 = WallTime(milliseconds: 1_700_000_180_000) }
        let back = tokens.bearer(for: name, at: minutes(3))
        #expect(back?.text == first?.text)
        #expect(
            back?.earlyTokenCount != second?.earlyTokenCount,
            "connections that used the other token must not take it")
    }

    @Test func `if APNs refuses a young token, a clock that disagrees with it is used`() throws {
        let keys = try KeyDirectory()
        try keys.put(SigningKey().pem)
        // Milliseconds by which the trusted clock is ahead of the true time.
        let trustedLead = Mutex<Int64>(0)
        let startMilliseconds: Int64 = 1_700_000_000_000
        let tokens = ProviderTokens(source: .directory(keys.directory.path), metrics: Metrics()) { now in
            let trueTime = startMilliseconds + now.nanoseconds / 1_000_000
            return ProviderClocks(
                trusted: WallTime(milliseconds: trueTime + trustedLead.withLock { $0 }),
                others: WallTime(milliseconds: trueTime))
        }
        tokens.reload()
        let first = try #require(tokens.bearer(for: name, at: minutes(0)))
        #expect(
            !tokens.handleExpired(for: name, revision: first.revision, at: minutes(1)),
            "both clocks say the same")
        trustedLead.withLock { $0 = 3 * 3_600_000 }
        let wrong = try #require(tokens.bearer(for: name, at: minutes(2)))
        #expect(wrong.text != first.text)
        #expect(tokens.handleExpired(for: name, revision: wrong.revision, at: minutes(3)))
        let right = try #require(tokens.bearer(for: name, at: minutes(3)))
        #expect(right.text == first.text, "its time agrees with the other clock, and it is young")
        #expect(
            tokens.handleExpired(for: name, revision: wrong.revision, at: minutes(3)), "a newer token exists")
        #expect(tokens.bearer(for: name, at: minutes(40))?.text == first.text)
        #expect(tokens.bearer(for: name, at: minutes(50))?.text != first.text)
    }

    @Test func `a thousand expired answers cause one token, and a young token is not replaced`() throws {
        let keys = try KeyDirectory()
        try keys.put(SigningKey().pem)
        let tokens = keys.tokens()
        tokens.reload()
        let first = try #require(tokens.bearer(for: name, at: minutes(0)))
        #expect(!tokens.handleExpired(for: name, revision: first.revision, at: minutes(5)))
        #expect(tokens.bearer(for: name, at: minutes(5))?.revision == first.revision)
        for _ in 0..<1_000 {
            #expect(tokens.handleExpired(for: name, revision: first.revision, at: minutes(25)))
            _ = tokens.bearer(for: name, at: minutes(25))
        }
        let second = try #require(tokens.bearer(for: name, at: minutes(25)))
        #expect(second.revision == first.revision + 1)
    }

    @Test func `after too many updates the previous token returns, and none is made for twenty minutes`()
        throws
    {
        let keys = try KeyDirectory()
        try keys.put(SigningKey().pem)
        let tokens = keys.tokens()
        tokens.reload()
        let first = try #require(tokens.bearer(for: name, at: minutes(0)))
        _ = tokens.handleExpired(for: name, revision: first.revision, at: minutes(21))
        let second = try #require(tokens.bearer(for: name, at: minutes(21)))
        #expect(tokens.handleTooMany(for: name, revision: second.revision, at: minutes(22)))
        let back = try #require(tokens.bearer(for: name, at: minutes(22)))
        #expect(back.text == first.text && back.revision > second.revision)
        #expect(tokens.bearer(for: name, at: minutes(41))?.text == first.text)
        #expect(!tokens.handleTooMany(for: name, revision: second.revision, at: minutes(41)))
        #expect(
            tokens.bearer(for: name, at: minutes(51))?.text != first.text,
            "answers for older tokens are ignored")
    }

    @Test func `many answers about too many tokens are logged once per pause`() throws {
        let keys = try KeyDirectory()
        try keys.put(SigningKey().pem)
        let tokens = keys.tokens()
        tokens.reload()
        let token = try #require(tokens.bearer(for: name, at: minutes(0)))
        var loggedMinutes: [Int] = []
        for minute in 1...45
        where tokens.handleTooMany(for: name, revision: token.revision, at: minutes(minute)) {
            loggedMinutes.append(minute)
        }
        #expect(loggedMinutes == [1, 21, 41])
    }

    @Test func `many concurrent threads get one token`() async throws {
        let keys = try KeyDirectory()
        try keys.put(SigningKey().pem)
        let tokens = keys.tokens()
        tokens.reload()
        let texts = await withTaskGroup(of: String.self) { group in
            for _ in 0..<64 { group.addTask { tokens.bearer(for: name, at: minutes(0))?.text ?? "" } }
            var texts: Set<String> = []
            for await text in group { texts.insert(text) }
            return texts
        }
        #expect(texts.count == 1 && texts.first?.isEmpty == false)
    }
}
