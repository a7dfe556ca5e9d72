import Catalog
import CatalogRecords
import Foundation
import HTTPServer
import ProcessTesting
import Telemetry
import Testing
import TokenSealing

@testable import Gateway

/// Sessions as values: the content of a cookie and its lifetime.
struct ConsoleSessionTests {
    private let key = APIKeyText.makeKey(app: "shop", role: .send, atMilliseconds: 0).record
    private static let start: Int64 = 1_795_000_000_000

    private var session: ConsoleSession { ConsoleSession(of: key, startedAt: Self.start) }

    /// Returns sealing keys that consist of one digit, so that two calls give the same keys.
    static func keys(_ digit: Character = "a", numbers: ClosedRange<Int> = 1...1) throws -> SealingKeys {
        let directory = try TemporaryDirectory()
        let line = String(repeating: String(digit), count: 64)
        let text = (["hash \(line)"] + numbers.map { "key \($0) \(line)" }).joined(separator: "\n")
        let path = try directory.writeFile(named: "keys", content: text)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return try SealingKeys(file: path)
    }

    private func time(_ milliseconds: Int64) -> WallTime { WallTime(milliseconds: milliseconds) }

    @Test func `one gateway opens the session that another sealed, also after a key was added`() throws {
        let cookie = try #require(SessionSeal(keys: try Self.keys()).cookie(for: session))
        #expect(SessionSeal(keys: try Self.keys()).session(in: cookie) == session)
        #expect(SessionSeal(keys: try Self.keys(numbers: 1...2)).session(in: cookie) == session)
        #expect(SessionSeal(keys: try Self.keys("b")).session(in: cookie) == nil, "another installation's")
    }

    @Test func `a cookie that is changed or cut is invalid`() throws {
        let seal = SessionSeal(keys: try Self.keys())
        let cookie = try #require(seal.cookie(for: session))
        for place in cookie.indices {
            var changed = cookie
            changed.replaceSubrange(place...place, with: cookie[place] == "A" ? "B" : "A")
            #expect(seal.session(in: changed) == nil, "\(changed)")
            #expect(seal.session(in: String(cookie[..<place])) == nil)
        }
        #expect(seal.session(in: cookie + "A") == nil)
    }

    @Test func `an app's sealed secret does not open as a session`() throws {
        let keys = try Self.keys()
        let secret = try #require(
            TokenSeal(keys: keys).seal(secret: session.bytes, app: "shop", name: "console session"))
        #expect(SessionSeal(keys: keys).session(in: secret) == nil)
    }

    @Test func `without sealing keys there are no sessions`() {
        #expect(SessionSeal(keys: nil).cookie(for: session) == nil && !SessionSeal(keys: nil).canSeal)
        #expect(SessionSeal(keys: nil).session(in: "s1.AAAA") == nil)
    }

    @Test func `a session ends after its hours, and does not start in the future`() {
        let end = Self.start + Int64(ConsoleSession.lifetimeHours) * 3_600_000
        #expect(!session.hasEnded(at: time(Self.start)) && !session.hasEnded(at: time(end - 1)))
        #expect(session.hasEnded(at: time(end)))
        #expect(!session.hasEnded(at: time(Self.start - 1000)), "another gateway's clock may be ahead")
        #expect(session.hasEnded(at: time(Self.start - 3_600_000)))
    }

    @Test func `a session's bytes can be read back, and other bytes are refused`() {
        #expect(ConsoleSession(bytes: session.bytes) == session)
        for count in 0..<session.bytes.count - key.id.utf8.count {
            #expect(ConsoleSession(bytes: Array(session.bytes.prefix(count))) == nil)
        }
        var other = session.bytes
        other[0] = 2
        #expect(ConsoleSession(bytes: other) == nil, "another version is refused")
    }

    @Test(
        arguments: [
            (["flotilla_session.shop=abc"], ["shop abc"]),
            (["a=1; flotilla_session.shop=abc; b=2"], ["shop abc"]),
            (["a=1", "flotilla_session.shop=abc"], ["shop abc"]), ([], []),
            (["flotilla_sessions.shop=abc"], []),
            (["flotilla_session.shop=abc; flotilla_session.bank=def"], ["shop abc", "bank def"]),
            (["flotilla_session.shop=abc; flotilla_session.shop=def; flotilla_session.bank=g"], ["bank g"]),
            (["flotilla_session.shop=abc", "flotilla_session.shop=abc"], []),
            (["flotilla_session.shop="], []),
            (["flotilla_session.=abc"], []), (["flotilla_session.sh/op=abc"], []),
            (["flotilla_session.shop=" + String(repeating: "a", count: 513)], []),
        ] as [([String], [String])])
    func `each app has a single cookie`(lines: [String], expected: [String]) {
        var headers: HTTPHeaders = [:]
        for line in lines { headers.add("Cookie", value: line) }
        #expect(SessionCookie.all(in: headers).map { "\($0.app) \($0.value)" } == expected)
    }

    @Test func `more sessions than a browser may have are ignored`() {
        let pairs = (0..<30).map { "flotilla_session.app\($0)=v" }
        let headers: HTTPHeaders = ["Cookie": pairs.joined(separator: "; ")]
        #expect(SessionCookie.all(in: headers).count == SessionCookie.sessionsMax)
    }

    @Test func `the token selects one of the browser's sessions`() throws {
        let check = SessionCheck(seal: SessionSeal(keys: try Self.keys()))
        let other = ConsoleSession(
            of: APIKeyText.makeKey(app: "bank", role: .read, atMilliseconds: 0).record, startedAt: Self.start)
        let cookies = try [session, other].map { try #require(check.seal.cookie(for: $0)) }
        let line = "flotilla_session.shop=\(cookies[0]); flotilla_session.bank=\(cookies[1])"
        for (cookie, expected) in zip(cookies, [session, other]) {
            let headers: HTTPHeaders = ["Cookie": line, "Flotilla-Console": SessionSeal.token(for: cookie)]
            #expect(check.verdict(on: headers, now: time(Self.start + 1)) == .session(expected))
        }
        #expect(check.verdict(on: ["Cookie": line], now: time(Self.start + 1)) == .fromAnotherSite)
    }

    @Test func `a call is accepted if it has the token and comes from the console's own pages`() throws {
        let check = SessionCheck(seal: SessionSeal(keys: try Self.keys()))
        let cookie = try #require(check.seal.cookie(for: session))
        let token = SessionSeal.token(for: cookie)
        func verdict(_ more: [(String, String)]) -> SessionCheck.SessionVerdict {
            var headers: HTTPHeaders = ["Cookie": "flotilla_session.shop=\(cookie)"]
            for (name, value) in more { headers.add(name, value: value) }
            return check.verdict(on: headers, now: time(Self.start + 1))
        }
        #expect(verdict([("Flotilla-Console", token)]) == .session(session))
        #expect(
            verdict([("Flotilla-Console", token), ("Sec-Fetch-Site", "same-origin")]) == .session(session))
        #expect(verdict([]) == .fromAnotherSite && verdict([("Flotilla-Console", "x")]) == .fromAnotherSite)
        for site in ["cross-site", "same-site"] {
            #expect(verdict([("Flotilla-Console", token), ("Sec-Fetch-Site", site)]) == .fromAnotherSite)
        }
        #expect(verdict([("Authorization", "Bearer x")]) == .none, "a key takes precedence over a cookie")
        let later = time(Self.start + ConsoleSession.lifetimeMilliseconds)
        let headers: HTTPHeaders = ["Cookie": "flotilla_session.shop=\(cookie)", "Flotilla-Console": token]
        #expect(check.verdict(on: headers, now: later) == .ended)
    }

    @Test func `a cookie for a page with TLS is marked secure`() {
        let cookie = SessionCookie(app: "shop", value: "v")
        let line = cookie.headerLine(seconds: 60, isSecure: true)
        #expect(
            line == "flotilla_session.shop=v; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure")
        #expect(!cookie.headerLine(seconds: 60, isSecure: false).contains("Secure"))
    }
}
