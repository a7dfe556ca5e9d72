import JSON
import Payloads
import RecordTesting
import Testing

// The rules for payloads: required parts, dates, groups and sizes.

private let now: Int64 = 1_763_600_000

private func start() -> PushContent {
    var content = PushContent(.start)
    content.contentState = raw(#"{"homeTeamScore":0,"awayTeamScore":0,"matchStatus":"1st Half"}"#)
    content.attributesType = "MatchLiveScoreWidgetAttributes"
    content.attributes = raw(
        #"{"leagueName":"Premier League","homeTeamName":"Aston Villa FC","awayTeamName":"Manchester City FC","matchStartTime":"18.30"}"#
    )
    content.alert = Alert(title: .plain("Live Activity Start"), body: .plain("Here your live activity"))
    return content
}

private func update() -> PushContent {
    var content = PushContent(.update)
    content.contentState = raw("{}")
    return content
}

/// Returns the violations, each as its field and its rule.
private func violations(
    of content: PushContent, route: PayloadRules.Route = .token, required: [String] = [],
    group: GroupAttribute? = nil,
    attributesBytes: Int = 0
) -> [String] {
    PayloadRules(route: route, now: now, requiredAttributes: required)
        .violations(in: content, group: group, attributesBytes: attributesBytes)
        .map { "\($0.field.rawValue) \($0.rule.rawValue)" }
}

@Test func `payloads from the documents of other products are accepted`() {
    #expect(
        violations(
            of: start(), required: ["leagueName", "matchStartTime"], group: GroupAttribute(group: "ars-liv")
        )
        .isEmpty)
    #expect(violations(of: update()).isEmpty)
    // Netmera's END has no content-state. The phone keeps the newest one.
    var end = PushContent(.end)
    end.dismissalDate = now - 100
    #expect(violations(of: end).isEmpty)
}

@Test func `a start without its parts reports all missing parts at once`() {
    #expect(
        violations(of: PushContent(.start)) == [
            "content-state required", "attributes-type required", "attributes required", "alert required",
        ])
}

@Test func `a missing required attribute is reported by name`() {
    let rules = PayloadRules(now: now, requiredAttributes: ["leagueName", "stadium"])
    let violations = rules.violations(in: start())
    #expect(violations.count == 1)
    #expect(
        violations.first?.description
            == "attributes lacks stadium, or has null, and the activity type requires it; without it no phone starts"
    )
}

@Test func `null is not a value for a required attribute, and the group attribute is added`() {
    var content = start()
    content.attributes = raw(#"{"home":null,"away":"B"}"#)
    let rules = PayloadRules(now: now, requiredAttributes: ["home", "away", "matchId"])
    let group = GroupAttribute(name: "matchId", group: "match-42")
    #expect(rules.violations(in: content, group: group).map(\.rule) == [.required])
    content.attributes = raw(#"{"home":"A","away":"B"}"#)
    #expect(rules.violations(in: content, group: group).isEmpty)
}

@Test func `fields of a start are refused on an update`() {
    var content = start()
    content.event = .update
    content.asksForToken = true
    content.channel = "x"
    #expect(
        violations(of: content) == [
            "attributes-type not_allowed", "attributes not_allowed", "input-push-token not_allowed",
            "input-push-channel not_allowed",
        ])
}

@Test func `dates are accepted only on their event and in seconds`() {
    var content = update()
    content.dismissalDate = now + 60
    content.staleDate = now - 1
    #expect(violations(of: content) == ["dismissal-date not_allowed"])
    content = update()
    content.staleDate = (now + 60) * 1000
    #expect(violations(of: content) == ["stale-date not_seconds"])
    var end = PushContent(.end)
    end.staleDate = now + 60
    end.dismissalDate = now * 1000
    #expect(violations(of: end) == ["stale-date not_allowed", "dismissal-date not_seconds"])
}

@Test func `a past date means now and is accepted, with a warning if it may be a mistake`() {
    func warnings(about content: PushContent) -> [String] {
        #expect(violations(of: content).isEmpty)
        return PayloadRules(now: now).warnings(in: content).map { "\($0.field.rawValue) \($0.rule.rawValue)" }
    }
    var content = update()
    content.staleDate = 0
    #expect(warnings(about: content).isEmpty, "now, on purpose")
    for date in [now, now - 1, now - 978_307_200, -5] {
        content.staleDate = date
        #expect(warnings(about: content) == ["stale-date doubtful"], "\(date)")
    }
    content.staleDate = now + 1
    #expect(warnings(about: content).isEmpty)
    var end = PushContent(.end)
    for date in [0, now - 100, now + 60] {
        end.dismissalDate = date
        #expect(warnings(about: end).isEmpty, "\(date)")
    }
    end.dismissalDate = now - 978_307_200
    #expect(warnings(about: end) == ["dismissal-date doubtful"], "seconds since 2001")
}

@Test func `a dismissal date after the system's own removal gets a warning`() {
    var end = PushContent(.end)
    for (hours, count): (Int64, Int) in [(0, 0), (4, 0), (5, 1), (25, 1)] {
        end.dismissalDate = now + hours * 3600
        let warnings = PayloadRules(now: now).warnings(in: end)
        #expect(warnings.count == count && warnings.allSatisfy { $0.field == .dismissalDate }, "\(hours)")
        #expect(violations(of: end).isEmpty)
    }
}

@Test func `content-state and attributes must be objects`() {
    var content = start()
    content.contentState = raw("[1]")
    content.attributes = raw(#""text""#)
    #expect(violations(of: content) == ["content-state not_an_object", "attributes not_an_object"])
}

@Test func `an alert needs text, a score is a number, and a start asks for a token or a channel`() {
    var content = start()
    content.alert = Alert(title: .plain(""), sound: "default")
    content.relevanceScore = .nan
    content.asksForToken = true
    content.channel = "abc"
    #expect(
        violations(of: content) == [
            "alert empty", "relevance-score not_a_number", "input-push-token conflict",
        ])
}

@Test func `the size of the final body is checked to the byte`() {
    func content(padding: Int, event: PushEvent = .update) -> PushContent {
        var content = PushContent(event)
        content.contentState = raw("{\"p\":\"\(String(repeating: "x", count: padding))\"}")
        return content
    }
    let overhead = PayloadBuilder.body(for: content(padding: 0), timestamp: now).count
    #expect(violations(of: content(padding: 4096 - overhead)).isEmpty)
    #expect(violations(of: content(padding: 4096 - overhead + 1)) == ["payload too_large"])
    #expect(violations(of: content(padding: 5120 - overhead), route: .channel) == ["content-state too_large"])
    var alerting = content(padding: 4000)
    alerting.alert = Alert(body: .plain(String(repeating: "y", count: 1000)))
    #expect(violations(of: alerting, route: .channel).isEmpty)
    #expect(violations(of: alerting, route: .token) == ["payload too_large"])
}

@Test func `the attributes of the start count into the size limit of an update`() {
    var content = update()
    content.contentState = raw("{\"p\":\"\(String(repeating: "x", count: 2000))\"}")
    #expect(violations(of: content, attributesBytes: 2000).isEmpty)
    #expect(violations(of: content, attributesBytes: 2100) == ["content-state too_large"])
}

@Test func `a group that contradicts the attributes is refused`() {
    var content = start()
    content.attributes = raw(#"{"netmeraGroupId":"other"}"#)
    #expect(violations(of: content, group: GroupAttribute(group: "mine")) == ["attributes conflict"])
    #expect(violations(of: content, group: GroupAttribute(group: "other")).isEmpty)
}

@Test func `a start through a channel is refused`() {
    #expect(violations(of: start(), route: .channel) == ["payload not_allowed"])
}

@Test func `a body is counted with its group attribute`() {
    func content(padding: Int) -> PushContent {
        var content = start()
        let alert = Alert(title: .plain(String(repeating: "a", count: padding)), body: .plain("b"))
        content.alert = alert
        return content
    }
    func bytes(_ content: PushContent, _ group: GroupAttribute?) -> Int {
        PayloadBuilder.body(for: content, timestamp: now, group: group).count
    }
    let group = GroupAttribute(group: String(repeating: "g", count: 200))
    let limit = PayloadRules.Route.token.bytesMax
    let padding = limit - bytes(content(padding: 0), group)
    #expect(bytes(content(padding: padding), group) == limit)
    #expect(violations(of: content(padding: padding), group: group).isEmpty)
    #expect(violations(of: content(padding: padding + 1), group: group) == ["payload too_large"])
    // Without its group the body is small enough.
    #expect(violations(of: content(padding: padding + 1)).isEmpty)
}

@Test func `the limit for attributes and state counts the group attribute`() {
    let group = GroupAttribute(group: String(repeating: "g", count: 200))
    var large = start()
    let stateBytesMax =
        PayloadRules.dataBytesMax - (PayloadBuilder.attributes(of: large, group: group)?.count ?? 0)
    func state(bytes: Int) -> RawJSON {
        let emptyBytes = #"{"a":""}"#.utf8.count
        return raw(#"{"a":"\#(String(repeating: "x", count: bytes - emptyBytes))"}"#)
    }
    large.contentState = state(bytes: stateBytesMax)
    large.alert = Alert(title: .plain("t"), body: .plain("b"))
    #expect(!violations(of: large, group: group).contains("content-state too_large"))
    large.contentState = state(bytes: stateBytesMax + 1)
    #expect(violations(of: large, group: group).contains("content-state too_large"))
    #expect(!violations(of: large).contains("content-state too_large"))
}
