import Catalog
import CatalogRecords
import Identifiers
import JSON
import Payloads
import RecordFormat
import Testing

/// The records of activity types, segments and definitions, applied to the catalog in any order.
struct SendCatalogTests {
    private let app = App(
        id: "shop", bundleID: "com.example.shop", environments: [.production], teamID: "ABCDE12345",
        keyID: "KEY1234567", types: [ActivityType(name: "Match")])

    /// Applies a record, or a tombstone if the value is nil.
    private func put(_ key: [UInt8], value: [UInt8]?, in catalog: inout CatalogSnapshot) {
        #expect(catalog.apply(key: key, value: value, with: JSONReader()) == .changed)
    }

    @Test func `a type's own record overrides the app document in any order of arrival`() {
        var own = ActivityType(name: "Match")
        own.isPrivate = true
        own.requiredAttributes = ["home"]
        let record = ActivityTypeRecord(app: "shop", type: own)
        let secondType = ActivityTypeRecord(app: "shop", type: ActivityType(name: "Order"))
        for typeComesFirst in [true, false] {
            var catalog = CatalogSnapshot()
            if typeComesFirst { put(record.key, value: record.encoded(), in: &catalog) }
            put(app.key, value: app.encoded(), in: &catalog)
            if !typeComesFirst { put(record.key, value: record.encoded(), in: &catalog) }
            put(secondType.key, value: secondType.encoded(), in: &catalog)
            #expect(catalog.apps["shop"]?.activityType(named: "Match") == own)
            #expect(catalog.apps["shop"]?.activityTypes.count == 2)
            #expect(catalog.documents["shop"] == app)
            put(record.key, value: nil, in: &catalog)
            #expect(
                catalog.apps["shop"]?.activityType(named: "Match").isPrivate == false,
                "the document's type applies again")
            put(app.key, value: nil, in: &catalog)
            #expect(catalog.apps["shop"] == nil)
            #expect(catalog.otherRecordKeys(of: "shop") == [secondType.key])
        }
    }

    @Test func `segments and definitions are added, changed and deleted in their app`() {
        var catalog = CatalogSnapshot()
        let segment = Segment(app: "shop", name: "a/b", rule: .tag("vip"))
        put(segment.key, value: segment.encoded(), in: &catalog)
        #expect(catalog.segment(named: "a/b", of: "shop") == segment)
        #expect(catalog.segment(named: "a/b", of: "bank") == nil)
        let definition = NotificationDefinition(
            app: "shop", number: 7, createdAt: 1, content: PushContent(.start))
        put(definition.key, value: definition.encoded(), in: &catalog)
        #expect(catalog.definition(number: 7, of: "shop") == definition)
        #expect(catalog.definition(number: 7, of: "bank") == nil)
        #expect(Set(catalog.otherRecordKeys(of: "shop")) == [segment.key, definition.key])
        put(segment.key, value: nil, in: &catalog)
        put(definition.key, value: nil, in: &catalog)
        #expect(catalog.otherRecordKeys(of: "shop").isEmpty)
    }

    @Test func `a segment under the key of another app is refused`() {
        var catalog = CatalogSnapshot()
        let segment = Segment(app: "shop", name: "a/b", rule: .tag("vip"))
        let bankSegment = Segment(app: "bank", name: "x", rule: .tag("vip"))
        guard
            case .unusable = catalog.apply(key: segment.key, value: bankSegment.encoded(), with: JSONReader())
        else {
            Issue.record("another app's segment was accepted")
            return
        }
    }
}
