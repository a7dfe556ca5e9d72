import CatalogRecords
import Telemetry
import Testing

@testable import Catalog

/// Tests of the access that an API key grants, by its role, its app and its end.
struct AccessDecisionTests {
    private let now = WallTime(milliseconds: 1000)

    @Test func `a valid key opens its own app`() {
        var catalog = CatalogSnapshot()
        catalog.put(makeApp())
        let (text, key) = APIKeyText.makeKey(app: "shop", role: .report, atMilliseconds: 0)
        catalog.put(key)
        #expect(catalog.access(withText: text, for: .report, now: now) == .granted(key, makeApp()))
        #expect(catalog.access(withText: text, for: .send, now: now) == .forbidden(key))
    }

    @Test func `a malformed key, an unregistered key and a key with a wrong secret are unknown`() throws {
        var catalog = CatalogSnapshot()
        catalog.put(makeApp())
        let (_, key) = APIKeyText.makeKey(app: "shop", role: .report, atMilliseconds: 0)
        let (unregisteredText, unregisteredKey) = APIKeyText.makeKey(
            app: "shop", role: .report, atMilliseconds: 0)
        catalog.put(key)
        #expect(catalog.access(withText: unregisteredText, for: .report, now: now) == .unknown)
        #expect(catalog.access(withText: "Bearer", for: .report, now: now) == .unknown)
        #expect(catalog.access(withText: String?.none, for: .report, now: now) == .unknown)
        // The second key's id with the secret of the first key.
        let swapped = APIKey(
            id: unregisteredKey.id, app: "shop", role: .report, secretHash: key.secretHash, createdAt: 0)
        catalog.put(swapped)
        #expect(catalog.access(withText: unregisteredText, for: .report, now: now) == .unknown)
    }

    @Test func `a caller with the secret learns that its key is revoked, expired or without its app`() {
        var catalog = CatalogSnapshot()
        var (text, key) = APIKeyText.makeKey(app: "shop", role: .send, atMilliseconds: 0)
        catalog.put(key)
        #expect(catalog.access(withText: text, for: .send, now: now) == .withoutApp(key))
        catalog.put(makeApp())
        key.expiresAt = 1001
        catalog.put(key)
        #expect(catalog.access(withText: text, for: .send, now: now) == .granted(key, makeApp()))
        key.expiresAt = 1000
        catalog.put(key)
        #expect(catalog.access(withText: text, for: .send, now: now) == .expired)
        key.revokedAt = 1
        catalog.put(key)
        #expect(catalog.access(withText: text, for: .send, now: now) == .revoked)
    }

    @Test(arguments: [
        (APIKey.Role.report, "report"), (.read, "read"), (.send, "report read send"),
        (.admin, "report read send admin"),
    ])
    func `a role has exactly these permissions`(role: APIKey.Role, permissions: String) {
        #expect(
            APIKey.Role.allCases.filter { role.includes($0) }.map(\.rawValue).joined(separator: " ")
                == permissions)
    }
}
