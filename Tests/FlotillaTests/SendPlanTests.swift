import Foundation
import ProcessTesting
import Testing

/// The path from `POST /v1/sends` to the expansions of the lanes, on a new installation. A send to everyone or to a group
/// has an expansion for each of 12 lanes, a send to one user has one. All of them lie in one topic, in their order.
struct SendPlanTests {
    private let directory: TemporaryDirectory
    private let installation: Installation
    private let key: String

    init() async throws {
        directory = try TemporaryDirectory()
        installation = try await Installation(directory.path)
        try await installation.createShop()
        for (type, document) in [
            ("Match", #"{"contentStateSchema":{"goals":"int"}}"#), ("Other", "{}"),
        ] {
            #expect(try await installation.flotilla("types", "put", "shop", type, document).status == 0)
        }
        let createdKey = try await installation.flotilla("keys", "create", "shop", "--role", "send")
        key = createdKey.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func call(_ method: String, _ path: String, body: String? = nil) async throws -> [String: Any] {
        var arguments = [
            "-sS", "-X", method, "http://\(installation.gateway)\(path)", "-H",
            "Authorization: Bearer \(key)",
        ]
        if let body { arguments += ["-H", "Content-Type: application/json", "-d", body] }
        let curl = try ChildProcess("curl", arguments: arguments)
        #expect(try await curl.exitStatus() == 0)
        let answer = try JSONSerialization.jsonObject(with: Data(curl.output.utf8))
        return try #require(answer as? [String: Any], "\(curl.output)")
    }

    private func post(_ body: String) async throws -> String {
        let answer = try await call("POST", "/v1/sends", body: body)
        return try #require(answer["sendId"] as? String, "\(answer)")
    }

    private func verdict(of id: String) async throws -> String {
        try await call("GET", "/v1/sends/\(id)")["verdict"] as? String ?? ""
    }

    /// Returns the number of a topic's records that name the send.
    private func recordCount(in topic: String, about id: String) async throws -> Int {
        let kcat = try ChildProcess(
            "kcat",
            arguments: [
                "-b", installation.broker, "-t", "flotilla.\(topic)", "-C", "-e", "-q", "-X",
                "isolation.level=read_committed",
            ])
        #expect(try await kcat.exitStatus() == 0)
        return kcat.output.split(separator: "\n").count { $0.contains("\"send\":\"\(id)\"") }
    }

    @Test
    func `a posted send reaches every lane or its recipient's lane, and its progress shows the verdict`()
        async throws
    {
        let start = try await post(
            #"{"event":"start","groupId":"m1","attributesType":"Match","attributes":{},"contentState":{"goals":0},"alert":{"title":"Kick-off"},"audience":"everyone"}"#
        )
        let update = try await post(#"{"event":"update","groupId":"m1","contentState":{"goals":1}}"#)
        let wrong = try await post(#"{"event":"update","groupId":"m1","contentState":{"goals":"one"}}"#)
        try await eventually("the verdicts of all sends") {
            try await [verdict(of: start), verdict(of: update), verdict(of: wrong)] == [
                "planned", "planned", "refused",
            ]
        }
        for id in [start, update] {
            #expect(try await recordCount(in: "expansions.urgent", about: id) == 12)
            #expect(try await recordCount(in: "expansions", about: id) == 0)
        }
        #expect(try await recordCount(in: "expansions.urgent", about: wrong) == 0)

        let own = try await post(
            #"{"event":"update","groupId":"m1","contentState":{"goals":9},"audience":{"users":["ben"]}}"#)
        try await eventually("the plan of the send to ben") { try await verdict(of: own) == "planned" }
        #expect(try await recordCount(in: "expansions.urgent", about: own) == 1)
        // After the cancel, ben's phones get back their earlier state. No other recipient gets a push.
        _ = try await call("DELETE", "/v1/sends/\(own)")
        try await eventually("the cancel") { try await verdict(of: own) == "stopping" }
        #expect(try await recordCount(in: "expansions.urgent", about: own + ".undo") == 1)

        let end = try await post(#"{"event":"end","groupId":"m1","contentState":{"goals":1}}"#)
        let late = try await post(#"{"event":"update","groupId":"m1","contentState":{"goals":2}}"#)
        try await eventually("the group has ended") {
            try await [verdict(of: end), verdict(of: late)] == ["planned", "ended"]
        }
    }
}
