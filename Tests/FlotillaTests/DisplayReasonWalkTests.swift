import Foundation
import ProcessTesting
import Testing

/// The reasons for what a phone shows, on a whole installation: each phone reports what causes a reason, and the answer
/// of insight gives that reason. The reasons that need a failing APNs or hours of silence are in `InsightTests`.
struct DisplayReasonWalkTests {
    private let directory: TemporaryDirectory
    private let installation: DemonstratedInstallation

    init() async throws {
        directory = try TemporaryDirectory()
        installation = try await DemonstratedInstallation(in: directory)
    }

    /// The reports of one phone, and the reason that they cause.
    private struct Case {
        let code: String
        /// A part of the reason's sentence.
        let words: String
        /// The bodies of the reports in their order, without the installation and the environment.
        let reports: [String]
    }

    private static let startToken =
        #""kind":"startToken","attributesType":"MatchAttributes","token":"00ff00ff""#
    private static func updateToken(group: String?) -> String {
        let groupField = group.map { #","groupId":"\#($0)""# } ?? ""
        return
            #""kind":"updateToken","attributesType":"MatchAttributes","activityId":"A","token":"00aa00aa"\#(groupField)"#
    }
    private static func state(_ state: String) -> String {
        #""kind":"state","attributesType":"MatchAttributes","activityId":"A","groupId":"quiet","state":"\#(state)""#
    }

    private static let cases = [
        Case(
            code: "nothing_reported", words: "no token has been reported", reports: [#""kind":"heartbeat""#]),
        Case(code: "system", words: "iOS 16.4 is too old", reports: [#""kind":"heartbeat","os":"16.4""#]),
        Case(
            code: "switched_off", words: "switched Live Activities off",
            reports: [startToken + #","activitiesEnabled":false"#]),
        Case(code: "nothing_sent", words: "nothing was sent to it", reports: [startToken]),
        Case(
            code: "unregistered", words: "unregistered the type",
            reports: [startToken, #""kind":"unregister","attributesType":"MatchAttributes""#]),
        Case(code: "unknown_group", words: "has not reported its group", reports: [updateToken(group: nil)]),
        Case(code: "nothing_sent", words: "its group had no send", reports: [updateToken(group: "quiet")]),
        Case(code: "no_token", words: "its update token has not been reported", reports: [state("active")]),
        Case(
            code: "dismissed", words: "the person dismissed it",
            reports: [updateToken(group: "quiet"), state("dismissed")]),
        Case(code: "ended", words: "it ended at", reports: [updateToken(group: "quiet"), state("ended")]),
        Case(
            code: "not_running", words: "it was not in the list",
            reports: [updateToken(group: "quiet"), #""kind":"reconcile","running":[]"#]),
    ]

    /// Calls the gateway.
    private func call(_ method: String, _ path: String, body: String? = nil) async throws -> HTTPAnswer {
        try await installation.call(method, installation.gateway + path, body: body)
    }

    /// Returns the reason of a phone, or of its activity in a group, as "code: sentence". Nil if it is unknown.
    private func reason(of phone: String, inGroup group: String? = nil) async throws -> String? {
        let answer = try await call("GET", "/v1/installations/\(phone)")
        guard answer.status == 200 else { return nil }
        let object = try JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: Any]
        let activities = object?["activities"] as? [[String: Any]] ?? []
        let subject = group.map { group in activities.last { $0["groupId"] as? String == group } } ?? object
        guard let why = subject?["why"] as? [String: Any], let code = why["code"],
            let sentence = why["sentence"]
        else { return nil }
        return "\(code): \(sentence)"
    }

    @Test func `each phone gets the reason that its reports cause`() async throws {
        for (number, expected) in Self.cases.enumerated() {
            let id = "walk-\(number)"
            for report in expected.reports {
                let answer = try await call(
                    "POST", "/v1/reports",
                    body: #"{"environment":"production","installationId":"\#(id)",\#(report)}"#)
                #expect(answer.status == 202, "\(answer.body)")
            }
            var latest: String?
            do {
                try await eventually("\(id) has the reason \(expected.code)") {
                    latest = try await reason(of: id)
                    return latest.map { $0.hasPrefix(expected.code + ":") && $0.contains(expected.words) }
                        ?? false
                }
            } catch {
                Issue.record("the reports \(expected.reports) cause \(latest ?? "no reason")")
                throw error
            }
        }
    }

    @Test func `a phone shows the newest version, and after an END it ended and was not dismissed`()
        async throws
    {
        func send(_ fields: String) async throws {
            let answer = try await call("POST", "/v1/sends", body: "{\(fields)}")
            #expect(answer.status == 202, "\(answer.body)")
        }
        try await send(
            #""event":"start","groupId":"walk","attributesType":"MatchAttributes","audience":{"users":["user-0"]},"attributes":{"home":"Larks","away":"Terns"},"contentState":{"home":1,"away":0},"alert":{"title":"A match"}"#
        )
        let shown = try await installation.call(
            "POST", "\(installation.control)/v1/wait",
            body:
                #"{"phone":"phone-0","group":"walk","pointer":"/home","equals":1,"milliseconds":60000}"#)
        #expect(shown.status == 200, "\(shown.body)")
        try await eventually("the phone shows the newest version") {
            try await reason(of: "phone-0", inGroup: "walk")?.hasPrefix("shows_newest: it shows version")
                ?? false
        }
        let dismissal = Int(Date().timeIntervalSince1970) + 2
        try await send(
            #""event":"end","groupId":"walk","contentState":{"home":2,"away":0},"dismissalDate":\#(dismissal)"#
        )
        try await eventually("the activity ended, and left the screen") {
            let reason = try await reason(of: "phone-0", inGroup: "walk") ?? ""
            #expect(!reason.hasPrefix("dismissed:"), "\(reason)")
            return reason.hasPrefix("ended: it ended: APNs accepted its END at")
        }
    }
}
