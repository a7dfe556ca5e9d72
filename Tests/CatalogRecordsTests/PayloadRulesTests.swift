import CatalogRecords
import Payloads
import RecordTesting
import Testing

/// Tests of the payload rules of an activity type: the schemas of its state and of its attributes.
struct PayloadRulesTests {
    private let rules: PayloadRules
    private let group = GroupAttribute(group: "m")

    init() {
        var type = ActivityType(name: "Match")
        type.contentStateSchema = schema(#"{"home":"int","at":"date.reference2001?"}"#)
        type.attributesSchema = schema(#"{"netmeraGroupId":"string","team":"string"}"#)
        // 2025-11-20.
        rules = PayloadRules(now: 1_763_600_000, type: type)
    }

    private func start(state: String, attributes: String) -> PushContent {
        var content = PushContent(.start)
        content.attributesType = "Match"
        content.alert = Alert(title: .plain("t"))
        content.contentState = raw(state)
        content.attributes = raw(attributes)
        return content
    }

    @Test func `values that do not decode are refused with the name of their field`() {
        let content = start(state: #"{"home":"1"}"#, attributes: #"{"team":7}"#)
        #expect(
            rules.violations(in: content, group: group).map(\.description) == [
                "content-state at home is a string, and Int does not decode from it; send a number without quotes",
                "attributes at team is an integer, and String does not decode from it; send a string in quotes",
            ])
    }

    @Test func `a date that decodes to an unlikely time is a warning`() {
        // Seconds since 1970, but the type decodes seconds since 2001. The value decodes, to a date in 2056.
        let content = start(state: #"{"home":1,"at":1763600000}"#, attributes: #"{"team":"A"}"#)
        #expect(rules.violations(in: content, group: group).isEmpty)
        let warnings = rules.warnings(in: content, group: group)
        #expect(warnings.map { "\($0.field) \($0.rule)" } == ["contentState doubtful"])
    }

    @Test func `attributes that lack the group of the schema are refused`() {
        // The schema requires `netmeraGroupId`, which only a start in a group gets.
        let content = start(state: #"{"home":1}"#, attributes: #"{"team":"A"}"#)
        #expect(rules.violations(in: content, group: group).isEmpty)
        #expect(rules.violations(in: content).map(\.rule) == [.doesNotDecode])
    }

    @Test func `an update without a required field is refused`() {
        var update = PushContent(.update)
        update.contentState = raw("{}")
        #expect(rules.violations(in: update).map(\.rule) == [.doesNotDecode])
    }
}
