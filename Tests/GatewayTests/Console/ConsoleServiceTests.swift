import Catalog
import CatalogRecords
import Foundation
import ProcessTesting
import Telemetry
import Testing
import Topics

@testable import Gateway

/// The console's sessions and pages at real gateways, as a browser uses them.
struct ConsoleServiceTests {
    /// The state that a browser keeps after a log-in.
    private struct Browser {
        let cookie: String
        let token: String

        var headers: [String] { ["Cookie: flotilla_session.shop=\(cookie)", "flotilla-console: \(token)"] }
    }

    private func logIn(_ bench: GatewayBench, as key: String) async throws -> Browser {
        let answer = try await bench.call("POST", "/console/session", key: key)
        #expect(answer.status == 200, "\(answer.body)")
        let line = try #require(answer.header("set-cookie"))
        #expect(line.contains("HttpOnly") && line.contains("SameSite=Strict") && line.contains("Path=/"))
        #expect(answer.header("cache-control") == "no-store")
        let cookie = try #require(line.split(separator: ";").first?.dropFirst("flotilla_session.shop=".count))
        return Browser(cookie: String(cookie), token: try answer.member("token"))
    }

    /// Calls a gateway as a page of the console does.
    private func call(
        _ method: String, _ path: String, body: String = "", as browser: Browser, at bench: GatewayBench,
        headers: [String] = []
    ) async throws -> HTTPAnswer {
        try await bench.call(method, path, body: body, key: nil, headers: browser.headers + headers)
    }

    @Test func `a session works at every gateway, and has its key's rights`() async throws {
        let keys = try ConsoleSessionTests.keys()
        let first = try await GatewayBench.onTestCluster(sealingKeys: keys)
        try await first.putTypes()
        try await first.startAndWait()
        let second = try await first.another(sealingKeys: keys)
        let reading = try await logIn(first, as: "shop/read")
        let sending = try await logIn(first, as: "shop/send")
        for gateway in [first, second] {
            #expect(try await call("GET", "/v1/activity-types", as: reading, at: gateway).status == 200)
            let session = try await call("GET", "/console/session", as: reading, at: gateway)
            #expect(session.status == 200 && session.body.contains(#""app":"shop""#), "\(session.body)")
            #expect(try [session.member("token"), session.member("role")] == [reading.token, "read"])
        }
        let start = SendsServiceTests.start()
        let refused = try await call("POST", "/v1/sends", body: start, as: reading, at: first)
        #expect(refused.status == 403 && refused.code == "key_forbidden", "\(refused.body)")
        #expect(try await call("POST", "/v1/sends", body: start, as: sending, at: second).status == 202)
        let redrive = try await call("POST", "/v1/dead-letters/redrive", body: "{}", as: sending, at: first)
        #expect(redrive.status == 403)
        await second.stop()
        await first.stop()
    }

    @Test func `the cookie alone, and a call that the browser marks as cross-site, are refused`() async throws
    {
        let bench = try await GatewayBench.onTestCluster(
            sealingKeys: try ConsoleSessionTests.keys())
        try await bench.putTypes()
        try await bench.startAndWait()
        let sending = try await logIn(bench, as: "shop/send")
        let start = SendsServiceTests.start()
        let cookieOnly = ["Cookie: flotilla_session.shop=\(sending.cookie)"]
        let crossSite = ["Sec-Fetch-Site: cross-site"]
        let forged = try await bench.call("POST", "/v1/sends", body: start, key: nil, headers: cookieOnly)
        #expect(forged.status == 403 && forged.code == "session_foreign")
        #expect(try await bench.call("GET", "/v1/segments", key: nil, headers: cookieOnly).status == 403)
        let sentAcross = try await call(
            "POST", "/v1/sends", body: start, as: sending, at: bench, headers: crossSite)
        #expect(sentAcross.status == 403)
        let shown = try await bench.call(
            "GET", "/console/session", key: nil, headers: cookieOnly + crossSite)
        #expect(shown.status == 403 && !shown.body.contains(sending.token))
        let loggedInAcross = try await bench.call(
            "POST", "/console/session", key: "shop/read", headers: crossSite)
        #expect(loggedInAcross.status == 403)
        #expect(try await bench.call("GET", "/console/session", key: nil).status == 204, "no session")
        await bench.stop()
    }

    @Test func `a session ends with its key or at a log-out, and the other sessions continue`() async throws {
        let bench = try await GatewayBench.onTestCluster(
            sealingKeys: try ConsoleSessionTests.keys())
        try await bench.putTypes()
        try await bench.startAndWait()
        let reading = try await logIn(bench, as: "shop/read")
        let sending = try await logIn(bench, as: "shop/send")
        try await bench.revoke("shop/send")
        try await eventually("the session ends with its key") {
            try await call("POST", "/v1/sends", body: SendsServiceTests.start(), as: sending, at: bench)
                .status
                == 401
        }
        #expect(try await call("GET", "/v1/segments", as: reading, at: bench).status == 200)
        let loggedOut = try await call("DELETE", "/console/session", as: reading, at: bench)
        #expect(loggedOut.status == 204 && loggedOut.header("set-cookie")?.contains("Max-Age=0") == true)
        await bench.stop()
    }

    @Test func `a browser has sessions of several apps, and logs out of one of them`() async throws {
        let bench = try await GatewayBench.onTestCluster(
            sealingKeys: try ConsoleSessionTests.keys())
        try await bench.startAndWait()
        var cookies: [String] = []
        var tokens: [String: String] = [:]
        for app in ["shop", "bank"] {
            let answer = try await bench.call("POST", "/console/session", key: "\(app)/read")
            cookies.append(String(try #require(answer.header("set-cookie")?.split(separator: ";").first)))
            tokens[app] = try answer.member("token")
        }
        let cookie = "Cookie: \(cookies.joined(separator: "; "))"
        func session(of app: String) async throws -> HTTPAnswer {
            try await bench.call("GET", "/console/session?app=\(app)", key: nil, headers: [cookie])
        }
        for (app, other) in [("shop", "bank"), ("bank", "shop")] {
            let answer = try await session(of: app)
            #expect(answer.body.hasPrefix(#"{"app":"\#(app)""#), "\(answer.body)")
            #expect(answer.body.contains(#""others":[{"app":"\#(other)""#), "\(answer.body)")
            #expect(answer.body.contains(try #require(tokens[other])))
            let headers = [cookie, "flotilla-console: \(try #require(tokens[app]))"]
            let types = try await bench.call("GET", "/v1/segments", key: nil, headers: headers)
            #expect(types.status == 200)
        }
        #expect(try await session(of: "unknown").body.contains("others"), "any session will do")
        let headers = [cookie, "flotilla-console: \(try #require(tokens["bank"]))"]
        let loggedOut = try await bench.call("DELETE", "/console/session", key: nil, headers: headers)
        let line = try #require(loggedOut.header("set-cookie"))
        #expect(line.hasPrefix("flotilla_session.bank=; ") && line.contains("Max-Age=0"), "\(line)")

        // A session under the name of another app is not shown as that app's.
        let moved = cookies[0].replacing("flotilla_session.shop", with: "flotilla_session.bank")
        let answer = try await bench.call(
            "GET", "/console/session", key: nil, headers: ["Cookie: \(moved)"])
        #expect(answer.code == "session_ended", "\(answer.body)")
        await bench.stop()
    }

    @Test func `log-in needs a suitable key, and it needs sealing keys`() async throws {
        let bench = try await GatewayBench.onTestCluster(
            sealingKeys: try ConsoleSessionTests.keys())
        try await bench.startAndWait()
        let phone = try await bench.call("POST", "/console/session", key: "shop/report")
        #expect(phone.status == 403 && phone.code == "key_forbidden" && phone.header("set-cookie") == nil)
        #expect(try await bench.call("POST", "/console/session", key: "nonsense").status == 401)
        #expect(try await bench.call("POST", "/console/session", key: nil).status == 401)
        let forged = [
            "Cookie: flotilla_session.shop=s1.AAAA", "flotilla-console: \(SessionSeal.token(for: "s1.AAAA"))",
        ]
        #expect(
            try await bench.call("GET", "/v1/segments", key: nil, headers: forged).code == "session_ended")
        let secure = try await bench.call(
            "POST", "/console/session", key: "shop/read", headers: ["Origin: https://flotilla.example.com"])
        #expect(secure.header("set-cookie")?.hasSuffix("; Secure") == true)
        let unsealed = try await bench.another()
        let withoutKeys = try await unsealed.call("POST", "/console/session", key: "shop/read")
        #expect(withoutKeys.status == 503 && withoutKeys.code == "console_without_keys")
        await unsealed.stop()
        await bench.stop()
    }

    @Test func `pages have a content policy and are revalidated by their tag`() async throws {
        let bench = try await GatewayBench.onTestCluster()
        try await bench.startAndWait()
        let page = try await bench.get("/console")
        #expect(page.status == 200 && page.header("content-type") == "text/html; charset=utf-8")
        #expect(page.header("content-security-policy")?.contains("default-src 'none'") == true)
        #expect(page.header("x-content-type-options") == "nosniff")
        #expect(page.header("referrer-policy") == "no-referrer")
        let script = try await bench.get("/console/app.js")
        #expect(script.status == 200 && script.header("content-type") == "text/javascript; charset=utf-8")
        let tag = try #require(script.header("etag"))
        let unchanged = try await bench.call(
            "GET", "/console/app.js", key: nil, headers: ["If-None-Match: \(tag)"])
        #expect(unchanged.status == 304 && unchanged.body.isEmpty)
        #expect(try await bench.get("/console/../console").status == 400)
        #expect(try await bench.get("/console/nothing.js").code == "file_unknown")
        for path in ["/", "/console/"] {
            let answer = try await bench.get(path)
            #expect(answer.status == 302 && answer.header("location") == "/console", "\(path)")
        }
        await bench.stop()
    }
}

extension GatewayBench {
    /// Revokes a key in the catalog.
    fileprivate func revoke(_ name: String) async throws {
        var record = try #require(keyRecords[name])
        record.revokedAt = 1
        let (settings, layout, revoked) = (settings, layout, record)
        try await onThread {
            let writer = try CatalogWriter(
                settings, catalog: layout.name(of: .catalog), audit: layout.name(of: .audit),
                author: "a test",
                metrics: Metrics())
            try writer.write(.put(revoked, action: "revoke"), now: .now())
        }
    }
}
