import CatalogRecords
import Foundation
import JSON
import Payloads
import Sends
import Testing

@testable import Gateway

/// The examples of Netmera's documentation, unchanged except for one date that must lie in the future.
struct NetmeraExamplesTests {
    static let bulk = #"""
        {
            "message": {
              "title": "Live Activity Start",
              "body": "Here your live activity",
              "platforms": ["IOS"],
              "type": "LIVE_ACTIVITY",
              "contentState": {
                "homeTeamScore": 0,
                "awayTeamScore": 0,
                "matchStatus": "1st Half"
              },
              "liveActAttr": {
                "leagueName": "Premier League",
                "homeTeamName": "Aston Villa FC",
                "awayTeamName": "Manchester City FC",
                "matchStartTime": "18.30"
              },
              "liveActAttrType": "MatchLiveScoreWidgetAttributes",
              "groupId": "ars-liv-2025",
              "liveActEndDate": "2026-01-28T15:35:37Z"
            },
            "target": {
              "sendToAll": true
            }
          }
        """#
    static let definition = #"""
        {
          "title": "Live Activity Start",
          "message": "Here your live activity",
          "platforms": [
            "IOS"
          ],
          "contentState": {
            "homeTeamScore": 2,
            "awayTeamScore": 3,
            "matchStatus": "2nd Half"
          },
          "liveActAttr": {
            "leagueName": "Premier League",
            "homeTeamName": "Aston Willa",
            "awayTeamName": "Chelsea",
            "matchStartTime": "21.40"
          },
          "liveActAttrType": "MatchLiveScoreWidgetAttributes"
        }
        """#
    static let transactional = #"""
        {
          "notificationKey": "9401",
          "message": {
            "groupId": "aw-ch-2025"
          },
          "target": {
            "extId": "your_external_id"
          }
        }
        """#
    static let update = #"""
        {
            "groupId": "ars-liv-2025",
            "action": "UPDATE",
            "contentState": {
                "homeTeamScore": 1,
                "awayTeamScore": 0,
                "matchStatus": "2nd Half"
            },
            "staleDate": "2026-01-11T09:21:37Z",
            "priority": 10
        }
        """#
    static let end = #"""
        {
            "groupId": "ars-liv-2025",
            "action": "END",
            "dismissalDate": "2026-01-11T09:21:37Z",
            "priority": 10
        }
        """#

    private static func inTwoHours() -> String {
        Date(timeIntervalSinceNow: 7200).formatted(.iso8601)
    }

    @Test func `every example of Netmera's documentation works unchanged`() async throws {
        let bench = try await GatewayBench.forSends()
        let bulkWithFutureEnd = Self.bulk.replacingOccurrences(
            of: "2026-01-28T15:35:37Z", with: Self.inTwoHours())
        let started = try await bench.call(
            "POST", "/rest/3.0/sendBulkNotification", body: bulkWithFutureEnd)
        #expect(started.status == 202, "\(started.body)")
        let refused = try await bench.call("POST", "/rest/3.0/sendBulkNotification", body: Self.bulk)
        #expect(
            refused.status == 422 && refused.code == "date_passed"
                && refused.field == "message.liveActEndDate")
        let defined = try await bench.call(
            "POST", "/rest/3.0/createNotificationDefinition", body: Self.definition)
        #expect(defined.status == 200, "\(defined.body)")
        let number = try defined.member("notificationKey")
        let unknown = try await bench.call("POST", "/rest/3.0/sendNotification", body: Self.transactional)
        #expect(unknown.status == 422 && unknown.code == "definition_unknown")
        let known = Self.transactional.replacingOccurrences(of: "9401", with: number)
        #expect(try await bench.call("POST", "/rest/3.0/sendNotification", body: known).status == 202)
        #expect(
            try await bench.call("POST", "/rest/3.0/update-live-activity", body: Self.update).status == 202)
        #expect(try await bench.call("POST", "/rest/3.0/update-live-activity", body: Self.end).status == 202)
        let sends = try await bench.sends(atLeast: 4)
        #expect(sends.map(\.content.event) == [.start, .start, .update, .end])
        #expect(sends.map(\.audience) == [.everyone, .users(["your_external_id"]), .group, .group])
        #expect(sends.map(\.group) == ["ars-liv-2025", "aw-ch-2025", "ars-liv-2025", "ars-liv-2025"])
        #expect(try started.member("sendId") == sends[0].id)
        // The date of the example, 2026-01-11T09:21:37Z.
        #expect(sends[0].endDate != nil && sends[2].content.staleDate == 1_768_123_297)
        #expect(sends[1].content.contentState?.bytes.isEmpty == false)
        let audit = try await bench.audit(atLeast: 1) + bench.auditOfSends(atLeast: 4)
        let actions = audit.filter { $0.author == bench.keyRecords["shop/send"]?.id }.map(\.action).sorted()
        #expect(actions == ["definition.create", "send.end", "send.start", "send.start", "send.update"])
        #expect(audit.contains { $0.subject == sends[0].id && $0.address == "127.0.0.1" })
        await bench.stop()
    }

    @Test
    func `Netmera's calls need Netmera's header, other calls the bearer header, and all the right role`()
        async throws
    {
        let bench = try await GatewayBench.forSends()
        let key = try #require(bench.keys["shop/send"])
        let path = "/rest/3.0/update-live-activity"
        #expect(
            try await bench.call(
                "POST", path, body: Self.update, key: nil, headers: ["Authorization: Bearer \(key)"]
            )
            .status == 401)
        #expect(
            try await bench.call(
                "POST", "/v1/sends", body: "{}", key: nil, headers: ["X-netmera-api-key: \(key)"]
            )
            .status == 401)
        for (role, status) in [("report", 403), ("read", 403), ("send", 202), ("admin", 202)] {
            #expect(
                try await bench.call("POST", path, body: Self.update, key: "shop/\(role)").status == status,
                "\(role)")
        }
        await bench.stop()
    }

    @Test func `a definition made on one gateway works at once on another`() async throws {
        let first = try await GatewayBench.forSends()
        let second = try await first.another(isBehind: true)
        let defined = try await first.call(
            "POST", "/rest/3.0/createNotificationDefinition", body: Self.definition)
        let known = Self.transactional.replacingOccurrences(
            of: "9401", with: try defined.member("notificationKey"))
        let sent = try await second.call("POST", "/rest/3.0/sendNotification", body: known)
        #expect(sent.status == 202, "\(sent)")
        await second.stop()
        await first.stop()
    }
}
