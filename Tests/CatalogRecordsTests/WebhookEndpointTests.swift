import CatalogRecords
import JSON
import RecordFormat
import RecordTesting
import Testing

/// The record of a webhook endpoint, and its URL.
struct WebhookEndpointTests {
    private let endpoint = WebhookEndpoint(
        app: "shop", name: "billing", url: "https://example.com/hooks", types: [.tokenDead, .sendFailed],
        secrets: [.init(createdAt: 10, sealed: "s1.abc")], createdAt: 10)

    @Test func `an endpoint has this format and reads back`() throws {
        #expect(
            text(of: endpoint)
                == #"{"v":1,"app":"shop","name":"billing","url":"https://example.com/hooks","events":["token.dead","send.failed"],"secrets":[{"createdAt":10,"sealed":"s1.abc"}],"createdAt":10}"#
        )
        var full = endpoint
        full.disabling = .init(at: 20, reason: "gone")
        full.replay = .init(requestedAt: 30, start: .time(5))
        #expect(try WebhookEndpoint.decode(full.encoded(), with: JSONReader()) == full)
        full.replay = .init(requestedAt: 30, start: .offset(topic: "events", partition: 3, offset: 1042))
        #expect(try WebhookEndpoint.decode(full.encoded(), with: JSONReader()) == full)
    }

    @Test func `a type of a newer program is ignored`() throws {
        let newer = text(of: endpoint).replacing("token.dead", with: "token.reborn")
        let read = try WebhookEndpoint.decode(Array(newer.utf8), with: JSONReader())
        #expect(read.types == [.sendFailed])
    }

    @Test func `after a rotation both secrets sign for a day`() {
        var rotated = endpoint
        rotated.rotate(to: .init(createdAt: 1000, sealed: "s1.new"))
        rotated.rotate(to: .init(createdAt: 2000, sealed: "s1.newest"))
        #expect(rotated.secrets.map(\.sealed) == ["s1.newest", "s1.new"])
        let end = 2000 + WebhookEndpoint.rotationMilliseconds
        #expect(rotated.signingSecrets(at: end - 1).count == 2)
        #expect(rotated.signingSecrets(at: end).map(\.sealed) == ["s1.newest"])
    }

    @Test(arguments: [
        ("https://example.com", "example.com", 443, "/", "example.com"),
        ("HTTPS://example.com:8443/a?b=c", "example.com", 8443, "/a?b=c", "example.com:8443"),
        ("http://[2001:db8::1]?x", "2001:db8::1", 80, "/?x", "[2001:db8::1]"),
        ("http://[::1]:81/", "::1", 81, "/", "[::1]:81"),
    ])
    func `a URL has these parts`(
        _ text: String, _ host: String, _ port: Int, _ path: String, _ authority: String
    ) throws {
        let url = try #require(WebhookURL(text))
        #expect(url.host == host && url.port == port && url.path == path && url.authority == authority)
    }

    @Test(arguments: [
        "", "example.com", "ftp://example.com", "https://", "https:///a", "https://a b",
        "https://me@example.com",
        "https://example.com/#a", "https://example.com:0", "https://example.com:65536",
        "https://example.com:",
        "https://exämple.com", "https://[::1", "https://[]/", "https://[::1]x", "https://a\r\nX: y",
        "https://" + String(repeating: "a", count: 254),
    ])
    func `a text of another form is no URL`(_ text: String) { #expect(WebhookURL(text) == nil) }
}
