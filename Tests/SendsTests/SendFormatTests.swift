import JSON
import Payloads
import RecordFormat
import RecordTesting
import Sends
import Testing

// The JSON of a send in its topic.

private var reader: JSONReader { JSONReader() }

/// Returns a send with every field.
private func makeSend() -> Send {
    var content = PushContent(.start)
    content.contentState = raw(#"{"home": 1.0}"#)
    content.attributesType = "Match"
    content.attributes = raw(#"{"team":"A"}"#)
    content.alert = Alert(title: .plain("t"), body: .localized(key: "k", arguments: ["1"]), sound: "default")
    content.staleDate = 1_763_700_000
    content.relevanceScore = 50
    content.asksForToken = true
    var send = Send(
        id: "s1", app: "shop", group: "m/1", audience: .tags(["a", "b"]), content: content,
        priority: .immediate,
        acceptedAt: 1_763_600_000_123)
    send.deadline = 1_763_610_000
    send.endDate = 1_763_620_000
    send.isConflatable = false
    send.unknownStartPolicy = .resend
    send.forcesRestart = true
    send.isDryRun = true
    send.collapseID = "c"
    send.expiration = 0
    send.fingerprint = "f1"
    send.generation = 7
    return send
}

@Test func `a send has this format and reads back`() throws {
    let send = makeSend()
    #expect(
        text(of: send)
            == #"{"v":1,"id":"s1","app":"shop","group":"m/1","audience":{"tags":["a","b"]},"event":"start","contentState":{"home": 1.0},"attributesType":"Match","attributes":{"team":"A"},"alert":{"title":"t","body":{"locKey":"k","locArgs":["1"]},"sound":"default"},"staleDate":1763700000,"relevanceScore":50,"inputPushToken":true,"priority":10,"collapseId":"c","acceptedAt":1763600000123,"deadline":1763610000,"expiration":0,"endDate":1763620000,"conflate":false,"onUnknownStart":"resend","restart":true,"dryRun":true,"fingerprint":"f1","generation":7}"#
    )
    #expect(try Send.decode(send.encoded(), with: reader) == send)
    var end = PushContent(.end)
    end.dismissalDate = 1_763_700_000
    for audience in [Audience.group, .users(["u"]), .activities(["a"])] {
        let send = Send(
            id: "s", app: "a", group: "g", audience: audience, content: end, priority: .powerSaving,
            acceptedAt: 1)
        #expect(try Send.decode(send.encoded(), with: reader) == send)
    }
}

/// The audiences of a start with several conditions, and their format.
@Test(arguments: [
    (
        AudienceCombination(segments: ["vip"], tags: ["goals", "cards"]),
        #"{"segments":["vip"],"tags":["goals","cards"]}"#
    ),
    (
        AudienceCombination(segments: ["vip"], excludedSegments: ["new"], excludedTags: ["muted"]),
        #"{"segments":["vip"],"exclude":{"segments":["new"],"tags":["muted"]}}"#
    ),
    (AudienceCombination(excludedTags: ["muted"]), #"{"everyone":true,"exclude":{"tags":["muted"]}}"#),
])
func `an audience with several conditions has this format and reads back`(
    combination: AudienceCombination, written: String
) throws {
    var send = makeSend()
    send.audience = .combination(combination)
    #expect(text(of: send).contains(#""audience":\#(written),"#))
    #expect(try Send.decode(send.encoded(), with: reader) == send)
}

@Test func `a damaged send never traps`() {
    forEachDamagedCopy(of: [makeSend().encoded()], seed: 4) { _ = try? Send.decode($0, with: reader) }
}
