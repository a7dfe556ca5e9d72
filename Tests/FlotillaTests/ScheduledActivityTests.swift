import Foundation
import ProcessTesting
import Testing

/// The examples of Teak's documentation on a whole installation: an update that was scheduled for a player's
/// chest appears on the player's phone when it is due, and not before.
struct ScheduledActivityTests {
    private let directory: TemporaryDirectory
    private let installation: DemonstratedInstallation

    init() async throws {
        directory = try TemporaryDirectory()
        installation = try await DemonstratedInstallation(in: directory)
    }

    /// Calls the gateway.
    private func call(_ method: String, _ path: String, body: String? = nil) async throws -> HTTPAnswer {
        try await installation.call(method, installation.gateway + path, body: body)
    }

    /// Returns whether the phone shows this status within this many milliseconds.
    private func phoneShows(_ status: String, within milliseconds: Int) async throws -> Bool {
        try await installation.call(
            "POST", installation.control + "/v1/wait",
            body:
                #"{"phone":"phone-0","group":"chest_timer","pointer":"/phase","equals":"\#(status)","milliseconds":\#(milliseconds)}"#
        ).status == 200
    }

    /// Schedules an update of an activity of the user `user-0`, whose phone is `phone-0`.
    private func schedule(_ activity: String, inSeconds offset: Double, status: String) async throws
        -> HTTPAnswer
    {
        try await call(
            "POST", "/v1/schedules",
            body: #"""
                {"user":"user-0","activity":"\#(activity)","name":"chest","offset":\#(offset),
                 "customData":{"home":0,"away":0,"phase":"\#(status)"},"systemData":{"event":"update"}}
                """#)
    }

    /// In milliseconds since 1970.
    private var now: Int { Int(Date().timeIntervalSince1970 * 1000) }

    @Test func `two of three updates are cancelled by their activity, and the third is shown when it is due`()
        async throws
    {
        let start = try await call(
            "POST", "/v1/sends",
            body: #"""
                {"event":"start","groupId":"chest_timer","private":true,"attributesType":"MatchAttributes",
                 "audience":{"users":["user-0"]},"attributes":{"home":"Larks","away":"Terns"},"contentState":{"home":0,"away":0,"phase":"locked"},
                 "alert":{"title":"A chest"}}
                """#)
        #expect(start.status == 202, "\(start.body)")
        #expect(try await phoneShows("locked", within: 60_000))
        for _ in 0..<2 {
            let laterCancelled = try await schedule("chest_timer_1", inSeconds: 600, status: "never")
            #expect(laterCancelled.status == 200, "\(laterCancelled.body)")
        }
        let scheduled = try await schedule("chest_timer", inSeconds: 3, status: "ready")
        #expect(scheduled.status == 200, "\(scheduled.body)")
        let dueAt = try #require(Int(scheduled.member("dueAt")))
        let listed = try await call("GET", "/v1/schedules?user=user-0")
        #expect(listed.body.matches(of: #/"scheduleId"/#).count == 3, "\(listed.body)")
        let cancellation = try await call("DELETE", "/v1/schedules?user=user-0&activity=chest_timer_1")
        #expect(cancellation.body == #"{"canceled":2}"#)
        #expect(try await phoneShows("ready", within: 60_000))
        #expect(now >= dueAt, "the update was shown before it was due")
        try await reportTap(scheduleID: scheduled.member("scheduleId"))
        try await reportTapWithoutSchedule(
            sendID: scheduled.member("sendId"), scheduleID: scheduled.member("scheduleId"))
        #expect(
            try await call("DELETE", "/v1/schedules?user=user-0&activity=chest_timer").body
                .hasPrefix(#"{"canceled":0"#))
        let sent = try await call("GET", "/v1/sends/\(scheduled.member("sendId"))")
        #expect(try sent.member("verdict") == "planned" && sent.member("targeted") == "1", "\(sent.body)")
    }

    @Test func `a schedule reaches an activity that the app started, and only that of its user`()
        async throws
    {
        for (phone, user) in [("pad-1", "ann"), ("pad-2", "ben")] {
            let report = try await call(
                "POST", "/v1/reports",
                body: #"""
                    {"kind":"updateToken","environment":"production","installationId":"\#(phone)","userId":"\#(user)",
                     "attributesType":"MatchAttributes","activityId":"\#(phone)-a","groupId":"quest","token":"c0ffee\#(phone.last!)0"}
                    """#)
            #expect(report.status == 202, "\(report.body)")
        }
        // Until fan-out knows ann's report, a send finds no activity.
        try await eventually("a send to the activity of ann only") {
            let scheduled = try await call(
                "POST", "/v1/schedules",
                body: #"{"user":"ann","activity":"quest","offset":0,"customData":{"home":1,"away":0}}"#)
            #expect(scheduled.status == 200, "\(scheduled.body)")
            let id = try scheduled.member("sendId")
            var sent = try await call("GET", "/v1/sends/\(id)")
            try await eventually("the progress of the send") {
                sent = try await call("GET", "/v1/sends/\(id)")
                return try sent.status == 200 && sent.member("isComplete") == "1"
            }
            #expect(try ["0", "1"].contains(sent.member("targeted")), "\(sent.body)")
            return try sent.member("targeted") == "1"
        }
    }

    /// Reports a tap with the ids from the schedule's answer. The event and the answer carry these ids.
    private func reportTap(scheduleID: String) async throws {
        let tapped = try await call(
            "POST", "/v1/reports",
            body:
                #"{"kind":"tap","environment":"production","installationId":"phone-0","activityId":"A","scheduleId":"\#(scheduleID)","scheduleName":"chest"}"#
        )
        #expect(
            tapped.body.contains(
                #""taps":[{"index":0,"activityId":"A","scheduleId":"\#(scheduleID)","scheduleName":"chest"}]"#
            ))
        try await eventually("the event of the tap") {
            let kcat = try ChildProcess(
                "kcat", arguments: ["-b", installation.broker, "-t", "flotilla.events", "-C", "-e", "-q"])
            _ = try await kcat.exitStatus()
            return kcat.output.split(separator: "\n").contains {
                $0.contains(#""code":"tap""#) && $0.contains(#""scheduleId":"\#(scheduleID)""#)
            }
        }
    }

    /// Reports taps on the activity of `phone-0`, which do not name a schedule, until the answer names the send that the
    /// activity shows and its schedule. The event and insight name them too.
    private func reportTapWithoutSchedule(sendID: String, scheduleID: String) async throws {
        let user = try await call("GET", "/v1/users/user-0")
        // The phone also has an activity of the demonstration's match.
        let ofGroup = #/"activityId":"([^"]+)","attributesType":"MatchAttributes","groupId":"chest_timer"/#
        let activity = try String(#require(user.body.firstMatch(of: ofGroup)).1)
        let origin = #""sendId":"\#(sendID)","scheduleId":"\#(scheduleID)","scheduleName":"chest""#
        // Insight reads the receipt of the push within moments.
        try await eventually("the answer names the send and the schedule") {
            let tapped = try await call(
                "POST", "/v1/reports",
                body:
                    #"{"kind":"tap","environment":"production","installationId":"phone-0","activityId":"\#(activity)"}"#
            )
            #expect(tapped.status == 202, "\(tapped.body)")
            return tapped.body.contains(#""taps":[{"index":0,"activityId":"\#(activity)",\#(origin)}]"#)
        }
        try await eventually("insight has the event with the send and the schedule") {
            try await call("GET", "/v1/events?code=tap&user=user-0").body.contains(origin)
        }
    }

    @Test func `a send for later can be made, shown and cancelled by hand`() async throws {
        func run(_ arguments: String...) async throws -> Answer {
            try await flotilla(arguments + ["--kafka-brokers", installation.broker])
        }
        let body = #"{"event":"update","groupId":"m1","contentState":{"home":1,"away":0}}"#
        let sent = try await run("send", body, "--app", "demo", "--in", "600")
        #expect(sent.status == 0 && sent.output.hasPrefix("accepted as t-"), "\(sent)")
        let listed = try await run("schedules", "--app", "demo", "--group", "m1")
        #expect(listed.status == 0 && listed.output.contains(" m1 "), "\(listed)")
        #expect(
            try await run("schedules", "cancel", "--app", "demo", "--group", "m1").output
                == "cancelled 1\n")
        let none = try await run("schedules", "--app", "demo", "--group", "m1")
        #expect(none.output == "nothing waits\n")
        let twice = try await run("send", body, "--app", "demo", "--in", "6", "--at", "2026-11-20")
        #expect(twice.status == ExitCode.usage)
        let wrong = try await run("schedules", "cancel", "--app", "demo", "--user", "jane")
        #expect(
            wrong.status == ExitCode.dataError && wrong.errors.contains("activity is missing"), "\(wrong)")
    }
}

extension HTTPAnswer {
    /// Returns a member of the JSON object in the body, as text.
    fileprivate func member(_ name: String) throws -> String {
        let object = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
        return try #require(object?[name].map { "\($0)" }, "\(name) in \(body)")
    }
}
