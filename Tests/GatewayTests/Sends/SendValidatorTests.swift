import CatalogRecords
import Foundation
import JSON
import Payloads
import RecordFormat
import Sends
import Telemetry
import Testing

@testable import Gateway
@testable import HTTPServer

/// The rules for sends: content, audience, ids and idempotency keys.
struct SendValidatorTests {
    private let fixture = DeciderFixture()
    private let now = DeciderFixture.now.seconds

    @Test func `a start carries its group in the attribute that the type names`() throws {
        let send = try fixture.send(startBody())
        #expect(
            send.content.attributes?.bytes == Array(#"{"netmeraGroupId":"m1","home":"A","away":"B"}"#.utf8))
        #expect(send.content.attributesType == "Match" && send.audience == .everyone && send.owner == nil)
        #expect(send.priority == .immediate && send.isConflatable && !send.isDryRun && send.deadline == nil)
    }

    @Test func `the record has every field that a call may set`() throws {
        let send = try fixture.send(
            startBody([
                "priority": "5", "collapseId": #""c""#, "endDate": #""2026-11-20T22:00:00Z""#,
                "deadline": #"{"offset":60}"#, "expiration": "0", "onUnknownStart": #""resend""#,
                "restart": "true", "dryRun": "true", "relevanceScore": "75.5", "inputPushToken": "true",
                "staleDate": #""2026-11-20T21:00:00.250Z""#, "when": #""now""#, "delivery": #""tokens""#,
                "audience": #"{"segments":["vips"]}"#,
                "alert": #"{"title":{"locKey":"k","locArgs":["a"]},"body":"b","sound":"s"}"#,
            ]))
        #expect(send.priority == .powerSaving && send.collapseID == "c" && send.endDate == now + 7200)
        #expect(send.deadline == now + 60 && send.expiration == 0 && send.unknownStartPolicy == .resend)
        #expect(send.forcesRestart && send.isDryRun && send.content.relevanceScore == 75.5)
        #expect(send.content.asksForToken && send.content.staleDate == now + 3600)
        #expect(send.audience == .segments(["vips"]))
        #expect(
            send.content.alert
                == Alert(title: .localized(key: "k", arguments: ["a"]), body: .plain("b"), sound: "s"))
        let update = try fixture.send(updateBody(["conflate": "false", "attributesType": #""Match""#]))
        #expect(!update.isConflatable && update.content.attributesType == nil && update.audience == .group)
    }

    @Test(arguments: [
        #"{"title":{"loc-key":"GOAL","loc-args":["2:1"]},"body":{"locKey":"LATE"}}"#,
        #"{"title-loc-key":"GOAL","title-loc-args":["2:1"],"loc-key":"LATE"}"#,
        #"{"title":{"locKey":"GOAL","locArgs":["2:1"]},"loc-key":"LATE","loc-args":[]}"#,
    ])
    func `localized texts are accepted in Apple's spellings, too`(_ alert: String) throws {
        let send = try fixture.send(startBody(["alert": alert]))
        #expect(
            send.content.alert
                == Alert(
                    title: .localized(key: "GOAL", arguments: ["2:1"]),
                    body: .localized(key: "LATE", arguments: [])))
    }

    @Test func `a text in two spellings is refused`() {
        for (alert, problem) in [
            (#"{"title":{"loc-key":"a","locKey":"b"}}"#, "alert.title.loc-key invalid"),
            (#"{"title":"a","title-loc-key":"b"}"#, "alert.title invalid"),
            (#"{"title":"a","loc-args":["b"]}"#, "alert.loc-key missing"),
        ] {
            #expect(fixture.problems(in: startBody(["alert": alert])) == [problem], "\(alert)")
        }
    }

    @Test func `a missing attribute does not hide a state that does not decode`() {
        let body = startBody([
            "attributes": #"{"home":"A"}"#, "contentState": #"{"score":"two","status":"1st"}"#,
        ])
        #expect(fixture.problems(in: body) == ["attributes required", "contentState does_not_decode"])
    }

    @Test func `a send to one activity needs no group, and an end may have a past dismissal date`() throws {
        let send = try fixture.send(
            endBody(["groupId": nil, "audience": #"{"activities":["x"]}"#, "dismissalDate": "1"]))
        #expect(send.scopeKey == ScopeKey(app: "shop", activity: "x") && send.content.dismissalDate == 1)
    }

    @Test func `an audience may have ten thousand users, and not one more`() throws {
        func body(_ count: Int) -> String {
            let names = (0..<count).map { "\"\(String(repeating: "u", count: 190))-\($0)\"" }
            return startBody(["audience": #"{"users":[\#(names.joined(separator: ","))]}"#])
        }
        let largest = body(Audience.namesMax)
        #expect(largest.utf8.count <= GatewayLimits.sendBytesMax)
        #expect(try fixture.send(largest).encoded().count < 4 << 20)
        #expect(fixture.problems(in: body(Audience.namesMax + 1)).contains("audience.users out_of_range"))
    }

    @Test func `an audience combines segments, tags and exclusions`() throws {
        func audience(_ text: String) throws -> Audience {
            try fixture.send(startBody(["audience": text])).audience
        }
        #expect(
            try audience(#"{"segments":["vips"],"tags":["a"],"exclude":{"tags":["b"]}}"#)
                == .combination(.init(segments: ["vips"], tags: ["a"], excludedTags: ["b"])))
        #expect(try audience(#"{"everyone":true}"#) == .everyone)
        #expect(try audience(#"{"tags":["a"],"exclude":null}"#) == .tags(["a"]))
        for (text, problems) in [
            (#"{"exclude":{"tags":["b"]}}"#, ["audience invalid"]),
            (#"{"everyone":false,"exclude":{"tags":["b"]}}"#, ["audience.everyone invalid"]),
            (#"{"everyone":true,"tags":["b"]}"#, ["audience invalid"]),
            (#"{"users":["a"],"tags":["b"]}"#, ["audience invalid"]),
            (#"{"users":["a"],"exclude":{"tags":["b"]}}"#, ["audience invalid"]),
            (#"{"tags":["a"],"exclude":{}}"#, ["audience.exclude invalid"]),
            (#"{"tags":["a"],"exclude":{"tags":[]}}"#, ["audience.exclude.tags invalid"]),
            (#"{"tags":[],"segments":["vips"]}"#, ["audience.tags invalid"]),
            (
                #"{"tags":["a"],"exclude":{"users":["b"]}}"#,
                [
                    "audience.exclude invalid", "audience.exclude.users unknown_field",
                ]
            ),
            (
                #"{"tags":["a"],"exclude":{"segments":["lost"]}}"#,
                [
                    "audience.exclude.segments[0] segment_unknown"
                ]
            ),
            (#"{"segments":["vips","lost"],"tags":["a"]}"#, ["audience.segments[1] segment_unknown"]),
        ] {
            #expect(fixture.problems(in: startBody(["audience": text])) == problems, "\(text)")
        }
        let combined = #"{"segments":["vips"],"tags":["a"]}"#
        #expect(fixture.problems(in: updateBody(["audience": combined])) == ["audience invalid"])
    }

    @Test func `a send names at most as many activities as its copies in all lanes allow`() {
        let names = (0..<Audience.namesMax).map { "\"\(String(repeating: "a", count: 30))-\($0)\"" }
        let body = updateBody(["audience": #"{"activities":[\#(names.joined(separator: ","))]}"#])
        #expect(fixture.problems(in: body) == [])
        let manyLanes = SendDecider(route: "/v1/sends", fields: .standard, lanes: 96) { root, context in
            SendBody.draft(from: root, now: context.now)
        }
        #expect(fixture.problems(in: body, by: manyLanes) == ["audience out_of_range"])
    }

    @Test
    func
        `an accepted send can be read back, and its payload is within the APNs limit`()
        throws
    {
        // The content is exactly at the size limit of the payload rules.
        var longest = 0
        for count in 3000...4100 {
            let body = startBody([
                "contentState": #"{"score":0,"status":"\#(String(repeating: "x", count: count))"}"#
            ])
            guard let send = try? fixture.send(body) else { break }
            longest = count
            let bytes = PayloadBuilder.body(for: send.content, timestamp: 9_999_999_999)
            #expect(bytes.count <= PayloadRules.Route.token.bytesMax)
        }
        #expect(longest > 3500)
    }

    @Test func `content is stored byte for byte`() throws {
        let state = #"{"score": 1 ,"status":"a\u0062", "x": 1.000000000000000000001}"#
        #expect(
            try fixture.send(updateBody(["contentState": state])).content.contentState?.bytes
                == Array(state.utf8))
    }

    @Test func `an update without a type in an app of several types is left to the planner`() {
        let several = DeciderFixture(privateType: true)
        let wrong = ["contentState": #"{"score":"one"}"#]
        #expect(several.problems(in: updateBody(wrong)) == [])
        let named = wrong.merging(["attributesType": #""Match""#]) { $1 }
        #expect(Set(several.problems(in: updateBody(named))) == ["contentState does_not_decode"])
    }

    @Test func `a doubtful value causes a warning and no refusal`() throws {
        let context = fixture.context(updateBody(["staleDate": "1"]))
        guard case .store(_, let response) = try DeciderFixture.own.decide(in: context) else {
            Issue.record("the send was not stored")
            return
        }
        let text = String(decoding: response.body, as: UTF8.self)
        #expect(text.contains(#""warnings":[{"code":"doubtful","field":"staleDate""#))
    }
}

/// The ids of sends and the fingerprints of their bodies. An id names its partition, so that a gateway finds the send's
/// records without an index.
struct SendIDTests {
    private let fixture = DeciderFixture()

    @Test func `a key gives the same id on every gateway; another route, app, group or key gives another`()
        throws
    {
        func id(_ body: String, _ key: String, by decision: SendDecider = DeciderFixture.own) throws -> String
        {
            try fixture.send(body, by: decision, headers: ["Idempotency-Key": key]).id
        }
        let first = try id(updateBody(), "key-1")
        #expect(try id(updateBody(), "key-1") == first)
        #expect(
            try id(updateBody(["priority": "5"]), "key-1") == first, "the planner detects the other body")
        #expect(try id(updateBody(), "key-2") != first)
        #expect(try id(updateBody(["groupId": #""m2""#]), "key-1") != first)
        let netmera = #"{"groupId":"m1","action":"UPDATE","contentState":{"score":1,"status":"x"}}"#
        #expect(try id(netmera, "key-1", by: DeciderFixture.update) != first)
        var other = fixture
        other.app.id = "bank"
        #expect(try other.send(updateBody(), headers: ["Idempotency-Key": "key-1"]).id != first)
        #expect(try fixture.send(updateBody()).id != fixture.send(updateBody()).id)
        let dry = try id(updateBody(["dryRun": "true"]), "key-1")
        #expect(dry != first, "a dry run has its own progress")
    }

    @Test func `the order of members and white space do not change a fingerprint`() throws {
        func fingerprint(of body: String) throws -> String? {
            try fixture.send(body, headers: ["Idempotency-Key": "k"]).fingerprint
        }
        let first = try fingerprint(
            of: #"{"event":"update","groupId":"m1","contentState":{"score":1,"status":"a"}}"#)
        let encodedDifferently = try fingerprint(
            of: #"{ "contentState" : {"status":"\u0061","score":1}, "groupId":"m1","event":"update" }"#)
        #expect(encodedDifferently == first)
        let otherScore = try fingerprint(
            of: #"{"event":"update","groupId":"m1","contentState":{"score":2,"status":"a"}}"#)
        #expect(otherScore != first)
        #expect(try fixture.send(updateBody()).fingerprint == nil, "a send without a key has no fingerprint")
    }

    @Test func `an id names its partition, and a foreign id is refused`() throws {
        let random = try fixture.send(updateBody()).id
        let id = try #require(SendID(random, lanes: 4))
        #expect(id.acceptedAt == DeciderFixture.now.milliseconds && id.text == random)
        #expect(try #require(SendID(random + ".undo", lanes: 4)).partition == id.partition)
        let derived = try fixture.send(updateBody(), headers: ["Idempotency-Key": "k"]).id
        #expect(try #require(SendID(derived, lanes: 4)).acceptedAt == nil)
        #expect(SendID(derived, lanes: 4)?.partition == id.partition, "one group, one partition")
        for text in ["t-5-1-3-000000000000000000000000", "d-1-3-00000000000000000000000000000000"] {
            let timed = try #require(SendID(text, lanes: 4))
            #expect(
                timed.partition == 1 && timed.timersPartition == 3
                    && timed.acceptedAt == (text.hasPrefix("t") ? 5 : nil))
        }
        for wrong in [
            "", "r", "r-1-2", "r-1-9-000000000000000000000000", "r-x-1-000000000000000000000000",
            "r--1-1-000000000000000000000000", "k-1-00", "k-01-00000000000000000000000000000000",
            "k-+1-00000000000000000000000000000000", "x-1-00000000000000000000000000000000", "../r",
            "k-1-0000000000000000000000000000000g", "t-1-1-000000000000000000000000",
            "r-1-1-1-000000000000000000000000", "t-1-1-9-000000000000000000000000",
            "d-1-00000000000000000000000000000000", "t-1-1-1-00000000000000000000000000000000",
            String(repeating: "r", count: 300),
        ] { #expect(SendID(wrong, lanes: 4) == nil, "\(wrong)") }
    }

    @Test func `an idempotency key must be one header of visible characters`() {
        for lines in [[""], ["a b"], [String(repeating: "k", count: 129)], ["a", "b"], ["ä"]] {
            var headers: HTTPHeaders = [:]
            for line in lines { headers.add("Idempotency-Key", value: line) }
            #expect(throws: RefusedRequest.self) {
                _ = try fixture.send(updateBody(), headers: headers)
            }
        }
    }
}
