import CatalogRecords
import Payloads
import RecordTesting
import Testing

/// 2025-11-20.
private let now: Int64 = 1_763_600_000

@Test func `the payload rules refuse values that do not decode and warn about doubtful values`() {
    var type = ActivityType(name: "Match")
    type.contentStateSchema = schema(#"{"home":"int","at":"date.reference2001?"}"#)
    type.attributesSchema = schema(#"{"netmeraGroupId":"string","team":"string"}"#)
    let rules = PayloadRules(now: now, type: type)
    var content = PushContent(.start)
    content.attributesType = "Match"
    content.alert = Alert(title: .plain("t"))
    content.contentState = raw(#"{"home":"1"}"#)
    content.attributes = raw(#"{"team":7}"#)
    #expect(
        rules.violations(in: content, group: GroupAttribute(group: "m")).map(\.description)
            == [
                "content-state at home is a string, and Int does not decode from it; send a number without quotes",
                "attributes at team is a number, and String does not decode from it; send a string in quotes",
            ].map { $0.replacing("a number, and String", with: "an integer, and String") })
    content.contentState = raw(#"{"home":1,"at":1763600000}"#)
    content.attributes = raw(#"{"team":"A"}"#)
    let group = GroupAttribute(group: "m")
    #expect(rules.violations(in: content, group: group).isEmpty)
    #expect(
        rules.warnings(in: content, group: group).map { "\($0.field) \($0.rule)" } == [
            "contentState doubtful"
        ])
    #expect(rules.violations(in: content).count == 1, "the phone would never learn its group")
    var update = PushContent(.update)
    update.contentState = raw("{}")
    #expect(rules.violations(in: update).map(\.rule) == [.doesNotDecode])
}
