import Catalog
import CatalogRecords
import Identifiers
import JSON
import Payloads
import RecordFormat
import Testing

/// Activity types, segments and definitions in the catalog.
struct SendCatalogTests {
    private func app() -> App {
        App(
            id: "shop", bundleID: "com.example.shop", environments: [.production], teamID: "ABCDE12345",
            keyID: "KEY1234567", types: [ActivityType(name: "Match")])
    }

    private func put(_ key: [UInt8], _ value: [UInt8]?, in catalog: inout CatalogSnapshot) {
        #expect(catalog.apply(key: key, value: value, with: JSONReader()) == .changed)
    }

    @Test func `a type's own record overrides the app document in any order of arrival`() {
        var own = ActivityType(name: "Match")
        own.isPrivate = true
        own.requiredAttributes = ["home"]
        let record = ActivityTypeRecord(app: "shop", type: own)
        let extra = ActivityTypeRecord(app: "shop", type: ActivityType(name: "Order"))
        for isFirst in [true, false] {
            var catalog = CatalogSnapshot()
            if isFirst { put(record.key, record.encoded(), in: &catalog) }
            put(app().key, app().encoded(), in: &catalog)
            if !isFirst { put(record.key, record.encoded(), in: &catalog) }
            put(extra.key, extra.encoded(), in: &catalog)
            #expect(catalog.apps["shop"]?.activityType(named: "Match") == own)
            #expect(catalog.apps["shop"]?.activityTypes.count == 2 && catalog.documents["shop"] == app())
            put(record.key, nil, in: &catalog)
            #expect(
                catalog.apps["shop"]?.activityType(named: "Match").isPrivate == false,
                "the document's type applies again")
            put(app().key, nil, in: &catalog)
            #expect(catalog.apps["shop"] == nil && catalog.otherRecordKeys(of: "shop") == [extra.key])
        }
    }

    @Test func `segments and definitions are added, changed and deleted in their app`() {
        var catalog = CatalogSnapshot()
        let segment = Segment(app: "shop", name: "a/b", rule: .tag("vip"))
        put(segment.key, segment.encoded(), in: &catalog)
        #expect(
            catalog.segment(named: "a/b", of: "shop") == segment
                && catalog.segment(named: "a/b", of: "bank") == nil)
        let definition = NotificationDefinition(
            app: "shop", number: 7, createdAt: 1, content: PushContent(.start))
        put(definition.key, definition.encoded(), in: &catalog)
        #expect(
            catalog.definition(number: 7, of: "shop") == definition
                && catalog.definition(number: 7, of: "bank") == nil)
        #expect(Set(catalog.otherRecordKeys(of: "shop")) == [segment.key, definition.key])
        put(segment.key, nil, in: &catalog)
        put(definition.key, nil, in: &catalog)
        #expect(catalog.otherRecordKeys(of: "shop").isEmpty)
        let other = Segment(app: "bank", name: "x", rule: .tag("vip"))
        guard case .unusable = catalog.apply(key: segment.key, value: other.encoded(), with: JSONReader())
        else {
            Issue.record("another app's segment was accepted")
            return
        }
    }
}
