import CatalogRecords
import Identifiers
import JSON
import RecordFormat
import Telemetry
import Testing
import TokenSealing

@testable import Catalog

/// Returns an app with two environments.
func makeApp(_ id: String = "shop") -> App {
    App(
        id: id, bundleID: "com.example.\(id)", environments: [.production, .sandbox], teamID: "ABCDE12345",
        keyID: "KEY1234567")
}

extension CatalogSnapshot {
    @discardableResult
    mutating func put(_ app: App) -> Effect { apply(key: app.key, value: app.encoded(), with: JSONReader()) }

    @discardableResult
    mutating func put(_ key: APIKey) -> Effect {
        apply(key: key.key, value: key.encoded(), with: JSONReader())
    }

    /// Applies a record of any text, or a tombstone.
    mutating func put(key: String, value: String?) -> Effect {
        apply(key: Array(key.utf8), value: value.map { Array($0.utf8) }, with: JSONReader())
    }
}

@Test func `apps and keys come, change and go`() {
    var catalog = CatalogSnapshot()
    var key = APIKeyText.makeKey(app: "shop", role: .send, atMilliseconds: 1).record
    #expect(catalog.put(makeApp()) == .changed)
    #expect(catalog.put(key) == .changed)
    #expect(catalog.apps["shop"] == makeApp() && catalog.keys[key.id] == key)
    key.revokedAt = 5
    catalog.put(key)
    #expect(catalog.keys(of: "shop").map(\.revokedAt) == [5])
    #expect(catalog.put(key: String(decoding: key.key, as: UTF8.self), value: nil) == .changed)
    #expect(catalog.put(key: "app/shop/", value: nil) == .changed)
    #expect(catalog.apps.isEmpty && catalog.keys.isEmpty && catalog.unusableRecords.isEmpty)
}

@Test func `two Unicode spellings of a name are two segments and two types`() {
    var catalog = CatalogSnapshot()
    catalog.put(makeApp())
    let spellings = ["caf\u{E9}", "cafe\u{301}"]
    let segments = spellings.enumerated().map { index, name in
        Segment(app: "shop", name: name, rule: .tag("t\(index)"))
    }
    for segment in segments {
        _ = catalog.apply(key: segment.key, value: segment.encoded(), with: JSONReader())
        let type = ActivityTypeRecord(app: "shop", type: ActivityType(name: segment.name))
        _ = catalog.apply(key: type.key, value: type.encoded(), with: JSONReader())
    }
    for segment in segments { #expect(catalog.segment(named: segment.name, of: "shop") == segment) }
    #expect(catalog.segments(of: "shop").count == 2 && catalog.apps["shop"]?.activityTypes.count == 2)
    for name in spellings {
        let type = catalog.apps["shop"]?.activityType(named: name)
        #expect(type?.name.isExactlyEqual(to: name) == true)
    }
    // A deleted name does not delete the other one.
    _ = catalog.apply(key: segments[0].key, value: nil, with: JSONReader())
    #expect(catalog.segments(of: "shop") == [segments[1]])
    #expect(catalog.segment(named: spellings[0], of: "shop") == nil)
}

@Test func `an unreadable record is reported and removes the earlier record of its key`() {
    var catalog = CatalogSnapshot()
    catalog.put(makeApp())
    #expect(
        catalog.put(key: "app/shop/", value: #"{"v":3}"#)
            == .unusable(
                "the record has schema version 3, this process knows 2; update it and redrive the record"))
    #expect(catalog.apps.isEmpty && catalog.unusableRecords.keys.sorted() == ["app/shop/"])
    for (key, value) in [
        ("app/shop", "{}"), ("nonsense", "{}"), ("app/shop/", "not JSON"), ("key/shop/x", #"{"v":1}"#),
        ("app/other/", String(decoding: makeApp().encoded(), as: UTF8.self)), ("%zz", "{}"),
    ] {
        guard case .unusable = catalog.put(key: key, value: value) else {
            Issue.record("\(key) was accepted")
            continue
        }
    }
    #expect(catalog.put(makeApp()) == .changed)
    #expect(catalog.apps["shop"] == makeApp())
    #expect(
        catalog.unusableRecords["app/shop/"] == nil, "a record that can be read replaces one that could not")
}

@Test func `record kinds of a newer program are ignored`() {
    var catalog = CatalogSnapshot()
    #expect(catalog.put(key: "channel/shop/vip", value: "anything") == .ignored)
    #expect(catalog.unusableRecords.isEmpty)
}

@Test func `a tombstone of one app does not remove a key of another app`() {
    var catalog = CatalogSnapshot()
    let key = APIKeyText.makeKey(app: "shop", role: .send, atMilliseconds: 1).record
    catalog.put(key)
    #expect(catalog.put(key: "key/other/\(key.id)", value: nil) == .changed)
    #expect(catalog.keys[key.id] == key)
}

@Test func `if two first processes have different sealing keys, the first record wins`() {
    func record(_ hash: String, _ keys: [(Int, String)], sealing: Int) -> SealingRecord {
        SealingRecord(
            hashFingerprint: hash, keys: keys.map { .init(number: $0.0, fingerprint: $0.1) },
            newestKeyNumber: sealing,
            writtenAt: 1)
    }
    var catalog = CatalogSnapshot()
    func put(_ record: SealingRecord?) -> CatalogSnapshot.Effect {
        catalog.apply(key: SealingRecord.key, value: record?.encoded(), with: JSONReader())
    }
    let first = record("aa", [(1, "k1")], sealing: 1)
    #expect(put(first) == .changed && catalog.sealingRecord == first)
    for other in [record("bb", [(1, "k1")], sealing: 1), record("aa", [(1, "k2")], sealing: 1)] {
        guard case .unusable = put(other) else {
            Issue.record("\(other) was accepted")
            continue
        }
        #expect(catalog.sealingRecord == first)
    }
    let rotated = record("aa", [(1, "k1"), (2, "k2")], sealing: 2)
    #expect(put(rotated) == .changed && catalog.sealingRecord == rotated && catalog.unusableRecords.isEmpty)
    #expect(put(nil) == .changed && catalog.sealingRecord == nil)
    #expect(put(record("bb", [(1, "k1")], sealing: 1)) == .changed)
}

@Test func `an app keeps its user proof, and a document must not contain one`() throws {
    var app = makeApp()
    app.userProof = UserProofSettings(requirement: .any, secrets: [.init(createdAt: 1, sealed: "s1.AAAA")])
    var catalog = CatalogSnapshot()
    #expect(catalog.put(app) == .changed && catalog.apps["shop"]?.userProof == app.userProof)
    do {
        _ = try AppDocument.parse(app.encoded(), id: "shop")
        Issue.record("the document was accepted")
    } catch {
        #expect(error.problems.map(\.path) == ["userProof"])
    }
}

@Test func `a webhook endpoint comes, changes and goes, and is among the records that go with its app`() {
    var catalog = CatalogSnapshot()
    var endpoint = WebhookEndpoint(
        app: "shop", name: "billing", url: "https://example.com", types: [.tokenDead], secrets: [],
        createdAt: 1)
    let key = String(decoding: endpoint.key, as: UTF8.self)
    #expect(catalog.put(key: key, value: String(decoding: endpoint.encoded(), as: UTF8.self)) == .changed)
    #expect(catalog.otherRecordKeys(of: "shop") == [endpoint.key])
    endpoint.url = "https://example.com/2"
    #expect(catalog.put(key: key, value: String(decoding: endpoint.encoded(), as: UTF8.self)) == .changed)
    #expect(catalog.webhooks(of: "shop") == ["billing": endpoint])
    #expect(catalog.put(key: key, value: nil) == .changed)
    #expect(catalog.webhooks(of: "shop").isEmpty)
}
