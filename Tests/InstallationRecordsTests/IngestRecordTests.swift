import Identifiers
import InstallationRecords
import JSON
import RecordFormat
import RecordTesting
import Testing

/// The records that ingest reads and writes: installations, reports and events.
@Suite struct IngestRecordTests {
    let reader = JSONReader()

    @Test func `claims of start tokens and their owner have this format and read back`() throws {
        let time = ReportTime(event: 5, received: 6)
        let claims = TokenClaims(
            app: "shop", environment: .sandbox,
            claims: [.init(tokenHash: "c0", installation: "i/1", at: time)])
        #expect(
            text(of: claims)
                == #"{"v":1,"app":"shop","environment":"sandbox","claims":[{"tokenHash":"c0","installationId":"i/1","at":[5,6]}]}"#
        )
        #expect(try TokenClaims.decode(claims.encoded(), with: reader) == claims)
        #expect(String(decoding: claims.key, as: UTF8.self) == "shop/t:")
        let row = TokenOwnerRow(app: "shop", installation: "i/1", at: time)
        #expect(text(of: row) == #"{"v":1,"app":"shop","installationId":"i/1","at":[5,6]}"#)
        #expect(try TokenOwnerRow.decode(row.encoded(), with: reader) == row)
        var key: [UInt8] = []
        TokenOwnerRow.writeKey(app: "shop", environment: .sandbox, tokenHash: "c0", to: &key)
        #expect(String(decoding: key, as: UTF8.self) == "shop/t:sandbox:c0")
    }

    @Test func `an installation has this format and reads back`() throws {
        var installation = Installation(app: "shop", subject: .installation("i/1"))
        installation.environment = Timestamped(.sandbox, at: ReportTime(event: 1, received: 2))
        installation.user = Timestamped(.user("u1"), at: ReportTime(event: 3, received: 4))
        installation.os = Timestamped("18.1", at: ReportTime(event: 3, received: 4))
        installation.frequentPushesEnabled = Timestamped(true, at: ReportTime(event: 3, received: 4))
        installation.tags = Timestamped(["vip"], at: ReportTime(event: 3, received: 4))
        var start = Installation.StartToken(type: "Match")
        start.token = .init(
            hash: "c0", sealed: "s1.x", environment: .sandbox, at: ReportTime(event: 5, received: 6))
        start.unregisteredAt = ReportTime(event: 1, received: 2)
        installation.startTokens = [start, .init(type: nil)]
        var activity = Installation.Activity(id: "A")
        activity.type = Timestamped("Match", at: ReportTime(event: 5, received: 6))
        activity.group = Timestamped("m1", at: ReportTime(event: 5, received: 6))
        activity.token = .init(
            hash: "c1", sealed: nil, environment: .sandbox, at: ReportTime(event: 5, received: 6))
        activity.state = Timestamped(.stale, at: ReportTime(event: 7, received: 7))
        activity.lastSeenAt = ReportTime(event: 7, received: 7)
        activity.isExpired = true
        activity.closing = .init(dismissedAt: ReportTime(event: 8, received: 9))
        installation.activities = [activity]
        installation.runningActivities = Timestamped([], at: ReportTime(event: 8, received: 9))
        installation.refusedTokens = [.init(hash: "c1", at: 10)]
        installation.formerRecipients = [
            .init(recipient: .installation("i/1"), joinedAt: 1, at: 4, rowsKeptUntil: 5)
        ]
        installation.movedAt = 4
        installation.taps = [.init(at: 12, id: "t"), .init(at: 13, id: nil)]
        installation.tapsPrunedUpTo = 11
        #expect(
            text(of: installation)
                == #"{"v":2,"app":"shop","subject":"i:i/1","environment":["sandbox",1,2],"recipient":["u:u1",3,4],"os":["18.1",3,4],"frequentPushesEnabled":[true,3,4],"tags":[["vip"],3,4],"starts":[{"type":"Match","tokenHash":"c0","token":"s1.x","environment":"sandbox","at":[5,6],"unregisteredAt":[1,2]},{}],"activities":[{"id":"A","type":["Match",5,6],"group":["m1",5,6],"tokenHash":"c1","environment":"sandbox","at":[5,6],"state":["stale",7,7],"heardAt":[7,7],"expired":true,"dismissedAt":[8,9]}],"running":[[],8,9],"refused":[{"tokenHash":"c1","at":10}],"moved":[{"from":"i:i/1","since":1,"at":4,"until":5}],"movedAt":4,"taps":[{"at":12,"reportId":"t"},{"at":13}],"tappedAt":11}"#
        )
        #expect(try Installation.decode(installation.encoded(), with: reader) == installation)
        #expect(String(decoding: installation.key, as: UTF8.self) == "shop/i:i%2f1")
        #expect(installation.recipient == .user("u1"))

        installation.activities[0].closing = .init(
            endedAt: ReportTime(event: 7, received: 9), dismissedAt: ReportTime(event: 8, received: 9))
        installation.activities[0].tokenLifetimeMilliseconds = 3000
        installation.appBuild = Timestamped("7", at: ReportTime(event: 1, received: 1))
        installation.locale = Timestamped("de", at: ReportTime(event: 1, received: 1))
        installation.timeZone = Timestamped("UTC", at: ReportTime(event: 1, received: 1))
        installation.activitiesEnabled = Timestamped(false, at: ReportTime(event: 1, received: 1))
        let attributes = try RawJSON(checking: Array(#"{"n":1.0}"#.utf8), with: reader)
        installation.attributes = Timestamped(attributes, at: ReportTime(event: 1, received: 1))
        #expect(try Installation.decode(installation.encoded(), with: reader) == installation)
    }

    @Test func `a time ends with its order and claimed time only if these differ from the defaults`() throws {
        var installation = Installation(app: "shop", subject: .installation("i"))
        func time(_ claimed: Int64?, _ sequence: Int?) -> ReportTime {
            ReportTime(claimed: claimed, received: 100, order: ReportOrder(bodyPosition: sequence, offset: 7))
        }
        installation.os = Timestamped("18", at: time(nil, 0))
        installation.appBuild = Timestamped("7", at: time(50, 3))
        installation.locale = Timestamped("de", at: time(500, 0))
        // Without a position the order is 2^20, above all positions, plus the offset of 7.
        installation.timeZone = Timestamped("UTC", at: time(99, nil))
        #expect(
            text(of: installation)
                == #"{"v":2,"app":"shop","subject":"i:i","os":["18",100,100],"appBuild":["7",50,100,3],"locale":["de",100,100,0,500],"timeZone":["UTC",99,100,1048583]}"#
        )
        #expect(try Installation.decode(installation.encoded(), with: reader) == installation)
        // A record of version 1, whose times never have an order or a claimed time.
        let versionOne = #"{"v":1,"app":"shop","subject":"i:i","os":["18",100,100],"tappedAt":11}"#
        let decoded = try Installation.decode(Array(versionOne.utf8), with: reader)
        #expect(decoded.os == Timestamped("18", at: time(nil, 0)))
    }

    @Test(arguments: [
        #""subject":"x""#, #""subject":"i:i","environment":["sandbox",1]"#, #""subject":"i:i","os":7"#,
        #""subject":"i:i","starts":[{"tokenHash":"a"}]"#,
    ])
    func `an installation with one damaged field is refused`(fields: String) {
        let text = #"{"v":1,"app":"shop",\#(fields)}"#
        #expect(throws: RecordDecodingError.self) {
            try Installation.decode(Array(text.utf8), with: reader)
        }
    }

    @Test func `a backend's profile of a user is a report without an installation`() throws {
        var report = Report(app: "shop", profileOf: "u/1")
        report.tags = ["vip"]
        #expect(text(of: report) == #"{"v":1,"app":"shop","userId":"u/1","kind":"profile","tags":["vip"]}"#)
        #expect(String(decoding: report.key, as: UTF8.self) == "shop/u:u%2f1")
        #expect(try Report.decode(report.encoded(), with: reader) == report)
        // No other kind of report is valid without an installation.
        for kind in ["heartbeat", "startToken"] {
            let text = #"{"v":1,"app":"shop","userId":"u","kind":"\#(kind)","token":"ab"}"#
            #expect(throws: RecordDecodingError.self) { try Report.decode(Array(text.utf8), with: reader) }
        }
    }

    @Test func `a null user means logged out, and a missing user means nothing`() throws {
        var report = Report(app: "shop", environment: .production, installation: "i", kind: .profile)
        #expect(try Report.decode(report.encoded(), with: reader).isLoggedOut == false)
        report.isLoggedOut = true
        #expect(text(of: report).contains(#""userId":null"#))
        #expect(try Report.decode(report.encoded(), with: reader) == report)
    }

    @Test func `a refused token is reported in this format`() throws {
        var report = Report(app: "shop", environment: .production, installation: "i", kind: .deadToken)
        report.refusal = .init(
            tokenHash: "c0", entry: "update:A", reason: "Unregistered", invalidatedAt: 5, dispatchedAt: 9)
        #expect(
            text(of: report)
                == #"{"v":1,"app":"shop","environment":"production","installationId":"i","kind":"deadToken","tokenHash":"c0","entry":"update:A","reason":"Unregistered","invalidatedAt":5,"dispatchedAt":9}"#
        )
        #expect(try Report.decode(report.encoded(), with: reader) == report)
        report.refusal?.entry = "nonsense"
        #expect(throws: RecordDecodingError.self) { try Report.decode(report.encoded(), with: reader) }
        #expect(!Report.Kind.deadToken.isAllowedFromClients && Report.Kind.tap.isAllowedFromClients)
    }

    @Test func `an accepted token is reported in this format`() throws {
        var report = Report(app: "shop", environment: .production, installation: "i", kind: .provenToken)
        report.proof = .init(tokenHash: "c0", entry: .update(activity: "A"))
        let json =
            #"{"v":1,"app":"shop","environment":"production","installationId":"i","kind":"provenToken","tokenHash":"c0","entry":"update:A"}"#
        #expect(text(of: report) == json)
        #expect(try Report.decode(report.encoded(), with: reader) == report)
        let wrong = Array(json.replacing("update:A", with: "nonsense").utf8)
        #expect(throws: RecordDecodingError.self) { try Report.decode(wrong, with: reader) }
        #expect(!Report.Kind.provenToken.isAllowedFromClients)
    }

    @Test func `a token without the field was stored before proofs, and counts as proven`() throws {
        var row = TokenRow(
            environment: .production, token: "ab", tokenHash: "cd", attributesType: "Match", registeredAt: 5)
        #expect(!text(of: row).contains("unproven"))
        #expect(try TokenRow.decode(row.encoded(), with: reader).isUnproven == false)
        row.isUnproven = true
        #expect(text(of: row).hasSuffix(#","registeredAt":5,"unproven":true}"#))
        #expect(try TokenRow.decode(row.encoded(), with: reader) == row)
        var installation = Installation(app: "shop", subject: .installation("i"))
        for isUnproven in [false, true] {
            installation.startTokens = [
                Installation.StartToken(
                    type: "Match",
                    token: Installation.Token(
                        hash: "c0", sealed: "s1.x", environment: .sandbox,
                        at: ReportTime(event: 5, received: 6), isUnproven: isUnproven))
            ]
            #expect(text(of: installation).contains("unproven") == isUnproven)
            #expect(try Installation.decode(installation.encoded(), with: reader) == installation)
        }
    }

    @Test func `an event has this format and reads back`() throws {
        var event = Event(.closed, app: "shop", eventTime: 1, receivedAt: 2)
        event.environment = .production
        event.installation = "i"
        event.user = "u"
        event.attributesType = "Match"
        event.activity = "A"
        event.group = "m1"
        event.cause = .dismissed
        #expect(
            text(of: event)
                == #"{"v":1,"code":"n:lac","app":"shop","environment":"production","installationId":"i","userId":"u","attributesType":"Match","activityId":"A","groupId":"m1","cause":"dismissed","eventTime":1,"receivedAt":2}"#
        )
        #expect(String(decoding: event.key, as: UTF8.self) == "shop/u:u", "the recipient's lane")
        event.tokenHash = "c0"
        event.scheduleID = "s"
        event.scheduleName = "n"
        #expect(try Event.decode(event.encoded(), with: reader) == event)
        #expect(Event.Code.allCases.map(\.rawValue) == ["n:lst", "n:lut", "n:lac", "profile", "tap"])
        event.user = nil
        #expect(String(decoding: event.key, as: UTF8.self) == "shop/i:i")
    }

    @Test func `the row of a dismissed activity has no token`() throws {
        var row = TokenRow(
            environment: .production, token: nil, tokenHash: nil, attributesType: "Match", registeredAt: 5)
        row.group = "m1"
        row.dismissedAt = 6
        row.expiresAt = 7
        #expect(
            text(of: row)
                == #"{"v":1,"environment":"production","token":"","tokenHash":"","attributesType":"Match","group":"m1","registeredAt":5,"expiresAt":7,"dismissedAt":6}"#
        )
        let entry = RegistryKey.Entry.update(activity: "A")
        let read = try row.encoded().withUnsafeBytes {
            try RegistryRow.decode($0, under: entry, with: reader)
        }
        #expect(read == .token(row))
    }
}
