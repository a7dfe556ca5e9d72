import JSON
import Payloads
import RecordTesting
import Testing

// Payloads from the documents of other products: those that phones accept, in the form that the phone must
// get, and those on which no phone would act, which are refused.

private struct Golden: Sendable, CustomTestStringConvertible {
    let name: String
    let content: PushContent
    let timestamp: Int64
    var group: String?
    /// The body for APNs.
    let body: String

    var testDescription: String { name }
}

private let netmeraState = #"{"homeTeamScore":0,"awayTeamScore":0,"matchStatus":"1st Half"}"#
private let netmeraAttributes =
    #"{"leagueName":"Premier League","homeTeamName":"Aston Villa FC","awayTeamName":"Manchester City FC","matchStartTime":"18.30"}"#
private let netmeraRequired = ["leagueName", "homeTeamName", "awayTeamName", "matchStartTime"]

private func content(
    _ event: PushEvent, _ state: String? = nil, type: String? = nil, attributes: String? = nil,
    title: String? = nil, body: String? = nil
) -> PushContent {
    var content = PushContent(event)
    content.contentState = state.map(raw)
    content.attributesType = type
    content.attributes = attributes.map(raw)
    if title != nil || body != nil {
        content.alert = Alert(title: title.map { .plain($0) }, body: body.map { .plain($0) })
    }
    return content
}

private func with(_ content: PushContent, _ change: (inout PushContent) -> Void) -> PushContent {
    var content = content
    change(&content)
    return content
}

private let netmera: [Golden] = [
    Golden(
        name: "a start for everyone",
        content: content(
            .start, netmeraState, type: "MatchLiveScoreWidgetAttributes", attributes: netmeraAttributes,
            title: "Live Activity Start", body: "Here your live activity"),
        timestamp: 1_768_120_000, group: "ars-liv-2025",
        body: #"""
            {"aps":{"timestamp":1768120000,"event":"start",
              "content-state":{"homeTeamScore":0,"awayTeamScore":0,"matchStatus":"1st Half"},
              "attributes-type":"MatchLiveScoreWidgetAttributes",
              "attributes":{"netmeraGroupId":"ars-liv-2025","leagueName":"Premier League",
                "homeTeamName":"Aston Villa FC","awayTeamName":"Manchester City FC","matchStartTime":"18.30"},
              "alert":{"title":"Live Activity Start","body":"Here your live activity"}}}
            """#),
    Golden(
        name: "a start from a definition, for one user",
        content: content(
            .start, #"{"homeTeamScore": 2, "awayTeamScore": 3, "matchStatus": "2nd Half"}"#,
            type: "MatchLiveScoreWidgetAttributes",
            attributes:
                #"{"leagueName":"Premier League","homeTeamName":"Aston Willa","awayTeamName":"Chelsea","matchStartTime":"21.40"}"#,
            title: "Live Activity Start", body: "Here your live activity"),
        timestamp: 1_768_120_000, group: "aw-ch-2025",
        body: #"""
            {"aps":{"timestamp":1768120000,"event":"start",
              "content-state":{"homeTeamScore":2,"awayTeamScore":3,"matchStatus":"2nd Half"},
              "attributes-type":"MatchLiveScoreWidgetAttributes",
              "attributes":{"netmeraGroupId":"aw-ch-2025","leagueName":"Premier League",
                "homeTeamName":"Aston Willa","awayTeamName":"Chelsea","matchStartTime":"21.40"},
              "alert":{"title":"Live Activity Start","body":"Here your live activity"}}}
            """#),
    Golden(
        name: "an update with a stale date",
        content: with(
            content(.update, #"{"homeTeamScore":1,"awayTeamScore":0,"matchStatus":"2nd Half"}"#)
        ) { $0.staleDate = 1_768_123_297 },
        timestamp: 1_768_120_000,
        body: #"""
            {"aps":{"timestamp":1768120000,"event":"update","stale-date":1768123297,
              "content-state":{"homeTeamScore":1,"awayTeamScore":0,"matchStatus":"2nd Half"}}}
            """#),
    Golden(
        name: "an end without a state, with a dismissal date",
        content: with(content(.end)) { $0.dismissalDate = 1_768_123_297 }, timestamp: 1_768_120_000,
        body: #"{"aps":{"timestamp":1768120000,"event":"end","dismissal-date":1768123297}}"#),
]

private let japanese: [Golden] = [
    Golden(
        name: "the smallest update", content: content(.update, "{}"), timestamp: 1_234_567_890,
        body: #"{"aps":{"timestamp":1234567890,"event":"update","content-state":{}}}"#),
    Golden(
        name: "a delivery starts",
        content: with(
            content(
                .start, #"{"driverName":"田中太郎","estimatedDeliveryTime":1696896000}"#,
                type: "DeliveryActivityAttributes", attributes: #"{"orderId":"ORDER-12345"}"#, title: "配達開始",
                body: "配達が開始されました")
        ) {
            $0.staleDate = 1_696_899_600
            $0.relevanceScore = 0.9
        },
        timestamp: 1_696_896_000,
        body: #"""
            {"aps":{"timestamp":1696896000,"event":"start",
              "content-state":{"driverName":"田中太郎","estimatedDeliveryTime":1696896000},
              "attributes":{"orderId":"ORDER-12345"},"attributes-type":"DeliveryActivityAttributes",
              "stale-date":1696899600,"relevance-score":0.9,
              "alert":{"title":"配達開始","body":"配達が開始されました"}}}
            """#),
    Golden(
        name: "a delivery comes closer",
        content: with(
            content(
                .update, #"{"driverName":"田中太郎","estimatedDeliveryTime":1696896300}"#, title: "配達状況更新",
                body: "あと5分で到着予定です")
        ) {
            $0.staleDate = 1_696_899_600
            $0.relevanceScore = 0.95
        },
        timestamp: 1_696_896_200,
        body: #"""
            {"aps":{"timestamp":1696896200,"event":"update",
              "content-state":{"driverName":"田中太郎","estimatedDeliveryTime":1696896300},
              "stale-date":1696899600,"relevance-score":0.95,
              "alert":{"title":"配達状況更新","body":"あと5分で到着予定です"}}}
            """#),
    Golden(
        name: "a delivery has arrived",
        content: with(
            content(
                .end, #"{"driverName":"田中太郎","estimatedDeliveryTime":1696896500}"#, title: "配達完了",
                body: "ご注文の商品が配達されました")
        ) { $0.dismissalDate = 1_696_900_100 },
        timestamp: 1_696_896_500,
        body: #"""
            {"aps":{"timestamp":1696896500,"event":"end",
              "content-state":{"driverName":"田中太郎","estimatedDeliveryTime":1696896500},
              "dismissal-date":1696900100,"alert":{"title":"配達完了","body":"ご注文の商品が配達されました"}}}
            """#),
]

private let others: [Golden] = [
    Golden(
        name: "Adobe: an order",
        content: content(
            .start, #"{"orderStatus":"Ordered"}"#, type: "FoodDeliveryLiveActivityAttributes",
            attributes:
                #"{"liveActivityData":{"liveActivityID":"order_12345"},"restaurantName":"Pizza Hut"}"#,
            title: "Live Activity Update", body: "Your Live Activity is starting"),
        timestamp: 1_768_120_000,
        body: #"""
            {"aps":{"timestamp":1768120000,"event":"start","content-state":{"orderStatus":"Ordered"},
              "attributes-type":"FoodDeliveryLiveActivityAttributes",
              "attributes":{"liveActivityData":{"liveActivityID":"order_12345"},"restaurantName":"Pizza Hut"},
              "alert":{"title":"Live Activity Update","body":"Your Live Activity is starting"}}}
            """#),
    Golden(
        name: "Alibaba: a taxi with partial data",
        content: content(
            .start, #"{"status":"1"}"#, type: "mpushTaxiAttributes",
            attributes: #"{"appName":"Taxi","appLogo":"logo"}"#, title: "司机已接单"),
        timestamp: 1_768_120_000,
        body: #"""
            {"aps":{"timestamp":1768120000,"event":"start","content-state":{"status":"1"},
              "attributes-type":"mpushTaxiAttributes","attributes":{"appName":"Taxi","appLogo":"logo"},
              "alert":{"title":"司机已接单"}}}
            """#),
    Golden(
        name: "Alibaba: a taxi on its way",
        content: content(.update, #"{"status":"2","distance":"300","eta":"5","prompt":"预计5分钟到达"}"#),
        timestamp: 1_768_120_001,
        body: #"""
            {"aps":{"timestamp":1768120001,"event":"update",
              "content-state":{"status":"2","distance":"300","eta":"5","prompt":"预计5分钟到达"}}}
            """#),
    Golden(
        name: "Alibaba: a ride is over and stays visible for four hours",
        content: with(content(.end, #"{"status":"4"}"#)) { $0.dismissalDate = 1_768_120_002 + 4 * 3_600 },
        timestamp: 1_768_120_002,
        body: #"""
            {"aps":{"timestamp":1768120002,"event":"end","content-state":{"status":"4"},
              "dismissal-date":1768134402}}
            """#),
    Golden(
        name: "Teak: custom data is the state",
        content: content(.update, #"{"remaining": 0, "status": "ready"}"#),
        timestamp: 1_768_120_060,
        body: #"""
            {"aps":{"timestamp":1768120060,"event":"update","content-state":{"remaining":0,"status":"ready"}}}
            """#),
    Golden(
        name: "Teak: system data ends the activity",
        content: with(content(.end, #"{"remaining":0,"status":"ready"}"#)) {
            $0.dismissalDate = 1_768_120_060
        },
        timestamp: 1_768_120_060,
        body: #"""
            {"aps":{"timestamp":1768120060,"event":"end","content-state":{"remaining":0,"status":"ready"},
              "dismissal-date":1768120060}}
            """#),
]

@Test(arguments: netmera + japanese + others)
private func `documented payloads are accepted and built as a phone needs them`(_ golden: Golden) throws {
    let group = golden.group.map { GroupAttribute(group: $0) }
    let rules = PayloadRules(
        now: golden.timestamp, requiredAttributes: golden.group == nil ? [] : netmeraRequired)
    #expect(rules.violations(in: golden.content, group: group).isEmpty)
    let body = PayloadBuilder.body(for: golden.content, timestamp: golden.timestamp, group: group)
    #expect(try isSameJSON(body, as: golden.body), "\(String(decoding: body, as: UTF8.self))")
    if let state = golden.content.contentState {
        #expect(String(decoding: body, as: UTF8.self).contains(String(decoding: state.bytes, as: UTF8.self)))
    }
}

private struct Refused: Sendable, CustomTestStringConvertible {
    let name: String
    let content: PushContent
    let rules: [String]
    var testDescription: String { name }
}

private let now: Int64 = 1_768_120_000
private let delivery = content(
    .start, #"{"driverName":"田中太郎"}"#, type: "DeliveryActivityAttributes",
    attributes: #"{"orderId":"ORDER-12345"}"#, title: "配達開始")

private let refused: [Refused] = [
    // Adobe's triggers put the activity's fields beside `aps`, under other names. ActivityKit sees only an
    // alert.
    Refused(
        name: "Adobe's trigger of a start",
        content: content(.start, title: "Live Activity Update", body: "Your Live Activity is starting"),
        rules: ["content-state required", "attributes-type required", "attributes required"]),
    Refused(
        name: "Adobe's trigger of an update",
        content: content(.update, title: "Order Update", body: "Your order is on the way"),
        rules: ["content-state required"]),
    Refused(
        name: "a stale date on an end", content: with(content(.end)) { $0.staleDate = now + 60 },
        rules: ["stale-date not_allowed"]),
    Refused(
        name: "a dismissal date on an update",
        content: with(content(.update, "{}")) { $0.dismissalDate = now + 60 },
        rules: ["dismissal-date not_allowed"]),
    Refused(
        name: "a dismissal date on a start", content: with(delivery) { $0.dismissalDate = now + 60 },
        rules: ["dismissal-date not_allowed"]),
    // The specification calls them recommended, but no phone starts without them.
    Refused(
        name: "a start without attributes", content: with(delivery) { $0.attributes = nil },
        rules: ["attributes required"]),
    Refused(
        name: "a start without its type", content: with(delivery) { $0.attributesType = nil },
        rules: ["attributes-type required"]),
    Refused(
        name: "a start without an alert", content: with(delivery) { $0.alert = nil },
        rules: ["alert required"]
    ),
    Refused(
        name: "an update without a state", content: content(.update), rules: ["content-state required"]),
    Refused(
        name: "a state that is not an object", content: content(.update, "[]"),
        rules: ["content-state not_an_object"]),
    Refused(
        name: "attributes on an update",
        content: with(content(.update, "{}")) { $0.attributes = raw(#"{"orderId":"ORDER-12345"}"#) },
        rules: ["attributes not_allowed"]),
]

@Test(arguments: refused)
private func `documented payloads on which no phone acts are refused by field`(_ refused: Refused) {
    let found = PayloadRules(now: now).violations(in: refused.content)
    #expect(found.map { "\($0.field.rawValue) \($0.rule.rawValue)" } == refused.rules)
}

@Test(arguments: netmeraRequired)
func `a missing attribute that Netmera calls mandatory is refused`(_ name: String) {
    let attributes = netmeraAttributes.replacing("\"\(name)\"", with: "\"other\"")
    let start = content(.start, netmeraState, type: "T", attributes: attributes, title: "t")
    let found = PayloadRules(now: now, requiredAttributes: netmeraRequired).violations(in: start)
    #expect(found.map(\.field) == [.attributes])
    #expect(found.first?.message.contains(name) == true)
}

@Test func `a relevance score may be any number, not only from 0 to 1`() {
    for score in [0, 0.95, 50, 100, -1] {
        let start = with(delivery) { $0.relevanceScore = score }
        #expect(PayloadRules(now: now).violations(in: start).isEmpty, "\(score)")
    }
}

@Test func `dates are checked against the phone's own type`() {
    // Adobe's example has an ISO date, which Swift's own Date does not decode. The specification's example
    // has seconds since 1970, which decode to another century.
    let rules = PayloadRules(
        now: now,
        contentStateSchema: schema(
            #"{"orderStatus":"string","estimatedDeliveryTime":"date.reference2001"}"#))
    var update = content(
        .update, #"{"orderStatus":"Preparing","estimatedDeliveryTime":"2024-01-15T14:30:00Z"}"#)
    #expect(rules.violations(in: update).map(\.rule) == [.doesNotDecode])
    update.contentState = raw(#"{"orderStatus":"Preparing","estimatedDeliveryTime":1696896000}"#)
    #expect(rules.violations(in: update).isEmpty)
    #expect(rules.warnings(in: update).map(\.rule) == [.doubtful])
}

@Test func `only ActivityKit's event names are valid`() {
    #expect(PushEvent(rawValue: "ended") == nil)
    #expect(PushEvent.allCases.map(\.rawValue) == ["start", "update", "end"])
}
