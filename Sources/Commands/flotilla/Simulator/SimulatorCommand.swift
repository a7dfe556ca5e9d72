internal import APNsSimulator
internal import CatalogRecords
internal import Glibc
internal import Identifiers
internal import Kafka
internal import Lifecycle
internal import Settings

extension Command {
    /// `flotilla apns-simulator`: runs a simulated APNs on this machine, to test any backend that pushes.
    static let simulator = Command(
        name: "apns-simulator",
        summary: "Runs a simulated APNs, stricter than the real one, that misbehaves on request.",
        usage: "[--data DIR] [--port PORT] [--script FILE]",
        example: "flotilla apns-simulator --data /tmp/apns --journal /tmp/apns/journal.jsonl",
        namespace: "apns-simulator", settings: ["apns-simulator.", "kafka.", "log.", "lifecycle."],
        runsUntilStopped: true
    ) { invocation in
        try invocation.requireNoPositionals()
        let settings = invocation.settings[SimulatorCommandSettings.self]
        let directory = try DataDirectory.create(
            at: settings.data.isEmpty ? DataDirectory.defaultPath() + "/apns-simulator" : settings.data)
        let process = RunningProcess(settings: invocation.settings)
        let service = SimulatorService(
            settings: settings.serviceSettings(
                directory: directory, kafka: invocation.settings[KafkaSettings.self])
        ) { connectionInfo in
            print(connectionInfo.introduction)
            // A reader behind a pipe must see the text now, not when the process ends.
            fflush(nil)
        }
        try await process.run([service])
    }
}

extension SimulatorConnectionInfo {
    /// A token of 32 bytes in hexadecimal. Without phones, the simulator accepts every token.
    private static let exampleToken = String(repeating: "c0de", count: 16)

    /// The text at the start: the addresses and files that a backend needs for the simulator, and commands to paste.
    fileprivate var introduction: String {
        let faults = tlsFaults.map { "\n  TLS fault   \(url(port: $0.port))  \($0.fault.rawValue)" }.joined()
        return """

            The APNs simulator serves.

              production  \(url(port: ports.production))  channels \(url(port: ports.productionChannels))
              sandbox     \(url(port: ports.sandbox))  channels \(url(port: ports.sandboxChannels))\(faults)
              trust       \(authorityFile)
              sign with   \(keyFile)  key id \(keyID), team id \(teamID)
              control     http://\(controlAddress)

            Try it:       \(exampleCommand)\(lookupLine)
            What came:    curl -s http://\(controlAddress)/v1/journal
            Go wrong:     curl -s http://\(controlAddress)/v1/script -d '{"match":{"share":0.1},"answer":{"reason":"TooManyRequests"}}'
            Stop it:      Ctrl-C

            """
    }

    private func url(port: Int) -> String {
        let isIPv6Address = host.contains(":")
        let urlHost = host == "127.0.0.1" ? "localhost" : isIPv6Address ? "[\(host)]" : host
        return "https://\(urlHost):\(port)"
    }

    /// A line with a command that shows the first phone, or an empty text if there are no phones.
    private var lookupLine: String {
        firstToken == nil ? "" : "\nLook at it:   curl -s http://\(controlAddress)/v1/phones/phone-0"
    }

    /// A curl command that pushes to the first phone.
    private var exampleCommand: String {
        let app = population?.app
        let token = firstToken.map { String(decoding: $0.hex, as: UTF8.self) }
        return """
            curl -i --http2 --cacert \(authorityFile) -H "authorization: bearer $(curl -s http://\(controlAddress)/v1/provider-token)" \
            -H 'apns-topic: \(app?.bundleID ?? "com.example.app").push-type.liveactivity' \
            -H 'apns-push-type: liveactivity' -H 'apns-priority: 10' \
            -d '\(payload(for: app?.types.first))' \
            \(url(port: ports.production))/3/device/\(token ?? Self.exampleToken)
            """
    }

    /// Returns the payload of a push: a start with the type's attributes, or an update if there are no phones.
    private func payload(for type: ActivityType?) -> String {
        let state = #""content-state":{"home":1,"away":0}"#
        guard let type else {
            return #"{"aps":{"timestamp":1763632800,"event":"update",\#(state)}}"#
        }
        let attributes =
            #""attributes-type":"\#(type.name)","attributes":{"\#(type.groupAttribute)":"match-42"}"#
        let alert = #""alert":{"title":"Kick-off","body":"1:0"}"#
        return #"{"aps":{"timestamp":'$(date +%s)',"event":"start",\#(state),\#(attributes),\#(alert)}}"#
    }
}
