import CatalogRecords
import Foundation
import Identifiers
import InstallationRecords
import JSON
import Kafka
import Payloads
import ProcessTesting
import RecordFormat
import Sends
import Telemetry
import Testing
import Topics

@testable import Gateway
@testable import HTTPServer

/// Sends, the objects that they use, profiles and erasures over HTTP: the answers, the stored records, and the audit
/// log. The gateway runs in this process, its topics are on an embedded broker, and no other stage runs. A call names
/// its key by an app and a role, as in `shop/admin`. A call that names none uses `shop/send`.
struct SendsServiceTests {
    /// The body of a valid start.
    static func start(ofGroup group: String = "m1", audience: String = #""everyone""#) -> String {
        #"""
        {"event":"start","groupId":"\#(group)","attributesType":"\#(GatewayBench.matchType)","audience":\#(audience),
        "attributes":{"leagueName":"L","homeTeamName":"A","awayTeamName":"B","matchStartTime":"18.30"},
        "contentState":{"homeTeamScore":0,"awayTeamScore":0,"matchStatus":"1st"},"alert":{"title":"t"}}
        """#
    }

    /// The body of a valid update.
    static func update(ofGroup group: String = "m1", score: Int = 1) -> String {
        #"""
        {"event":"update","groupId":"\#(group)",
        "contentState":{"homeTeamScore":\#(score),"awayTeamScore":0,"matchStatus":"2nd"}}
        """#
    }

    @Test func `an accepted send is in sends and in the audit, and a refused one is in neither`()
        async throws
    {
        let bench = try await GatewayBench.forSends()
        let first = try await bench.call("POST", "/v1/sends", body: Self.start())
        #expect(first.status == 202, "\(first.body)")
        #expect(first.header("Location") == "/v1/sends/\(try first.member("sendId"))")

        let refused = try await bench.call(
            "POST", "/v1/sends", body: Self.start(audience: #"{"segments":["x"]}"#))
        #expect(refused.status == 422 && refused.code == "segment_unknown")
        #expect(
            refused.body.contains(#""problems":[{"code":"segment_unknown","field":"audience.segments[0]""#))
        let broken = try await bench.call("POST", "/v1/sends", body: #"{"event":"update","event":"end"}"#)
        #expect(broken.status == 400)
        #expect(broken.code == "duplicate_key" && broken.field == "event", "\(broken.body)")
        let large = try await bench.call(
            "POST", "/v1/sends", body: String(repeating: " ", count: GatewayLimits.sendBytesMax + 1))
        #expect(large.status == 413)
        let compressed = try await bench.call(
            "POST", "/v1/sends", body: Self.update(), headers: ["Content-Encoding: gzip"])
        #expect(compressed.status == 415)

        #expect(try await bench.call("POST", "/v1/sends", body: Self.update()).status == 202)
        #expect(try await bench.sends(atLeast: 2).map(\.content.event) == [.start, .update])
        let audited = try await bench.auditOfSends(atLeast: 2)
        #expect(audited.map(\.action).sorted() == ["send.start", "send.update"])
        // Sends have an audit topic of their own, so that they do not fill the one that is kept for over a year.
        #expect(try await bench.audit(atLeast: 1).allSatisfy { !$0.action.hasPrefix("send.") })
        #expect(
            bench.metrics.render().contains(
                #"flotilla_gateway_requests_total{kind="send",outcome="accepted"} 2"#))
        await bench.stop()
        let log = try bench.logged()
        #expect(!log.contains("homeTeam"), "content in the log")
    }

    // MARK: Objects of the catalog

    // Two gateways run in these tests: each reads the catalog to its end before it answers about an object.

    @Test func `a type is put, shown and deleted at once on every gateway`() async throws {
        let first = try await GatewayBench.forSends()
        let second = try await first.another()
        let path = "/v1/activity-types/Order"
        let type =
            #"{"requiredAttributes":["orderId"],"groupAttribute":"order","private":true,"updateTokenTtl":"2h"}"#
        let put = try await first.call("PUT", path, body: type, key: "shop/admin")
        #expect(put.status == 200, "\(put.body)")
        for gateway in [first, second] {
            #expect(try await gateway.call("GET", path, key: "shop/read").body == put.body)
        }
        #expect(try await second.call("GET", path, key: "bank/read").status == 404)
        #expect(try await first.call("PUT", path, body: type, key: "shop/send").status == 403)
        let wrong = try await first.call(
            "PUT", path, body: #"{"ttl":1,"private":"yes"}"#, key: "shop/admin")
        #expect(
            wrong.status == 422 && wrong.body.contains("unknown_field") && wrong.body.contains("wrong_type"))
        #expect(try await first.call("DELETE", path, key: "shop/admin").status == 204)
        let actions = Set(try await first.audit(atLeast: 2).map(\.action))
        #expect(actions.isSuperset(of: ["type.put", "type.delete"]))
        await second.stop()
        await first.stop()
    }

    @Test func `a segment is put, used by a send, listed and deleted at once on every gateway`() async throws
    {
        let first = try await GatewayBench.forSends()
        let second = try await first.another()
        let path = "/v1/segments/adults"
        let rule = #"{"rule":{"and":[{"tag":"vip"},{"attribute":"age","atLeast":18}]}}"#
        #expect(try await first.call("PUT", path, body: rule, key: "shop/admin").status == 200)
        // The rule alone, as the book and the command line have it.
        let bare = try await first.call(
            "PUT", "/v1/segments/fans", body: #"{"tag":"vip"}"#, key: "shop/admin")
        #expect(bare.body == #"{"name":"fans","rule":{"tag":"vip"}}"#, "\(bare.body)")
        #expect(try await first.call("DELETE", "/v1/segments/fans", key: "shop/admin").status == 204)
        let withoutRule = try await second.call(
            "PUT", "/v1/segments/x", body: #"{"rule":{}}"#, key: "shop/admin")
        #expect(withoutRule.status == 422)
        let send = Self.start(audience: #"{"segments":["adults"]}"#)
        #expect(try await second.call("POST", "/v1/sends", body: send).status == 202)
        let foreign = try await second.call("POST", "/v1/sends", body: send, key: "bank/send")
        #expect(foreign.code == "segment_unknown")
        let list = try await second.call("GET", "/v1/segments", key: "shop/read").body
        #expect(list == #"{"items":[{"name":"adults"}]}"#)
        #expect(try await first.call("DELETE", path, key: "shop/admin").status == 204)
        #expect(try await first.call("POST", "/v1/sends", body: send).code == "segment_unknown")
        #expect(try await first.call("DELETE", path, key: "shop/admin").status == 404)
        let actions = Set(try await first.audit(atLeast: 4).map(\.action))
        #expect(actions.isSuperset(of: ["segment.put", "segment.delete"]))
        await second.stop()
        await first.stop()
    }

    @Test func `a definition of Netmera's interface is shown and deleted at once on every gateway`()
        async throws
    {
        let first = try await GatewayBench.forSends()
        let second = try await first.another()
        let created = try await first.call(
            "POST", "/rest/3.0/createNotificationDefinition", body: NetmeraExamplesTests.definition)
        let path = "/v1/definitions/\(try created.member("notificationKey"))"
        let shown = try await second.call("GET", path, key: "shop/read")
        #expect(try shown.status == 200 && shown.member("title") == "Live Activity Start", "\(shown.body)")
        #expect(try await second.call("DELETE", path, key: "shop/admin").status == 204)
        #expect(try await second.call("GET", "/v1/definitions", key: "shop/read").body == #"{"items":[]}"#)
        let actions = Set(try await first.audit(atLeast: 2).map(\.action))
        #expect(actions.isSuperset(of: ["definition.create", "definition.delete"]))
        await second.stop()
        await first.stop()
    }

    @Test func `a definition under a key is created once, on every gateway, and another body is refused`()
        async throws
    {
        let first = try await GatewayBench.forSends()
        let second = try await first.another(isBehind: true)
        func define(_ bench: GatewayBench, _ body: String, key: String) async throws -> HTTPAnswer {
            try await bench.call(
                "POST", NetmeraEndpoint.definitionPath, body: body, headers: ["Idempotency-Key: \(key)"])
        }
        let body = NetmeraExamplesTests.definition
        let created = try await define(first, body, key: "welcome")
        #expect(created.status == 200, "\(created.body)")
        let number = try created.member("notificationKey")
        // The second gateway has not read the definition yet.
        #expect(try await define(second, body, key: "welcome").body == created.body)
        let other = body.adding(member: "groupId", value: #""other""#)
        let refused = try await define(second, other, key: "welcome")
        #expect(refused.status == 409 && refused.code == "idempotency_conflict", "\(refused.body)")
        #expect(try refused.member("notificationKey") == number)
        #expect(refused.header("Location") == "/v1/definitions/\(number)")
        #expect(try await define(second, other, key: "another").member("notificationKey") != number)
        #expect(try await first.call("POST", NetmeraEndpoint.definitionPath, body: body).status == 200)
        let list = try await first.call("GET", "/v1/definitions", key: "shop/read").body
        // The one under `welcome`, the one under `another`, and the one without a key.
        #expect(list.matches(of: /notificationKey/).count == 3, "\(list)")
        // A deleted definition frees its key. The number follows from the key, so the new definition has the same.
        #expect(try await first.call("DELETE", "/v1/definitions/\(number)", key: "shop/admin").status == 204)
        #expect(try await define(second, other, key: "welcome").member("notificationKey") == number)
        await second.stop()
        await first.stop()
    }

    // MARK: Users

    @Test func `a profile of a backend goes to ingest as a report`() async throws {
        let bench = try await GatewayBench.forSends()
        let profile = try await bench.call(
            "PUT", "/v1/users/jane%2F1/profile", body: #"{"tags":["vip"],"attributes":{"age":30}}"#)
        #expect(profile.status == 202, "\(profile.body)")
        #expect(try await bench.call("PUT", "/v1/users/jane/profile", body: "{}").status == 422)
        #expect(
            try await bench.call("PUT", "/v1/users/jane/profile", body: #"{"tags":[7]}"#).field == "tags[0]")
        let deep =
            #"{"attributes":\#(String(repeating: #"{"a":"#, count: 9))1\#(String(repeating: "}", count: 9))}"#
        #expect(try await bench.call("PUT", "/v1/users/jane/profile", body: deep).code == "out_of_range")

        let reports = try await bench.records(of: .reports, atLeast: 1)
        #expect(reports.map(\.key) == [Self.janesKey])
        let report = try Report.decode(Array(reports[0].value.utf8), with: JSONReader())
        #expect(report.kind == .profile && report.tags == ["vip"])
        await bench.stop()
    }

    @Test func `the answer to an erasure names every place that keeps data of users`() async throws {
        let bench = try await GatewayBench.forSends()
        let erased = try await bench.call("DELETE", "/v1/users/jane%2F1")
        #expect(erased.status == 202, "\(erased.body)")
        // The catalog and the members have no data of users.
        for topic in TopicName.allCases where topic != .catalog && topic != .members {
            let place = #""where":"topic \#(bench.layout.name(of: topic))""#
            #expect(erased.body.contains(place), "the answer lacks \(topic)")
        }
        for place in ["insight's files", "APNs", "the user's phones"] { #expect(erased.body.contains(place)) }
        #expect(try await bench.call("DELETE", "/v1/users/jane", key: "shop/report").status == 403)
        #expect(try await bench.call("DELETE", "/v1/users/jane", body: "{}").status == 422)
        await bench.stop()
    }

    @Test func `an erasure reaches ingest, the scheduler and the senders`() async throws {
        let bench = try await GatewayBench.forSends()
        #expect(try await bench.call("DELETE", "/v1/users/jane%2F1").status == 202)
        let reports = try await bench.records(of: .reports, atLeast: 1)
        #expect(reports.map(\.key) == [Self.janesKey])
        #expect(try Report.decode(Array(reports[0].value.utf8), with: JSONReader()).isUserErasure)
        let lanes = bench.layout.lanes
        let commands = try await bench.records(of: .schedules, atLeast: lanes)
        #expect(
            commands.map(\.key) == Array(repeating: Self.janesKey, count: lanes),
            "every partition of the scheduler erases the user")
        #expect(commands.allSatisfy { $0.value.contains(#""cancels":{"everything":true}"#) })
        let notes = try await bench.records(of: .superseded, atLeast: 1)
        #expect(notes.map(\.key) == ["shop///u:jane%2f1"], "the senders drop waiting pushes")
        await bench.stop()
    }

    /// The key of the records about the user `jane/1`. Escapes in keys have small letters.
    private static let janesKey = "shop/u:jane%2f1"
}
