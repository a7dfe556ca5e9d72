internal import APNsSimulator
package import CatalogRecords
internal import Foundation
internal import Glibc
package import IngestTesting
internal import Kafka
package import ProcessTesting
package import SenderTesting
internal import Topics

/// A complete installation as separate processes, started as an operator starts them. It has its own broker or uses a
/// running cluster. It has any number of processes per stage, and a simulated APNs whose phones report to the first
/// gateway.
package final class Fleet {
    package static let team = "ABCDE12345"
    package static let keyID = "KEY1234567"
    package static let type = ActivityType(name: "MatchAttributes")
    private static let catalogReadMessage = "the catalog has been read"

    package let plan: FleetPlan
    package let bed: TestBed
    /// The app that all simulated phones have.
    package let mainApp: FleetApp
    /// The app of another customer, which must not see anything of `mainApp`.
    package let otherApp: FleetApp
    /// The broker, or nil if the fleet uses a running cluster.
    package let broker: RestartableProcess?
    package let simulator: ChildProcess
    /// The processes of the stages, also those that are retired.
    package private(set) var members: [FleetMember] = []
    private let program: String
    private let directory: String
    private let simulatorPorts: (production: Int, control: Int)
    /// The ports of the gateways, by their number.
    private var portsOfGateways: [Int: Int] = [:]

    /// - Parameters:
    ///   - programs: The directory that contains `flotilla`.
    ///   - directory: The directory for all data of the processes.
    ///   - canary: A word that appears in all names of the main app, so that a check can search for it.
    package init(plan: FleetPlan, programs: String, directory: String, canary: String = "") async throws {
        self.plan = plan
        self.directory = directory
        program = "\(programs)/flotilla"
        if let brokers = plan.brokers {
            broker = nil
            bed = try TestBed(brokers: brokers, lanes: plan.lanes)
        } else {
            let process = try await Self.startBroker(program: program, in: directory)
            broker = process
            bed = try TestBed(brokers: ["127.0.0.1:\(process.port)"], lanes: plan.lanes)
        }
        var type = Self.type
        if !canary.isEmpty { type = ActivityType(name: "Match\(canary)Attributes") }
        mainApp = try FleetApp(
            id: "shop\(canary)", bundleID: "com.example.shop\(canary)", type: type, team: Self.team,
            keyID: Self.keyID, bed: bed)
        otherApp = try FleetApp(
            id: "news", bundleID: "com.example.news", type: Self.type, team: Self.team, keyID: Self.keyID,
            bed: bed)
        if plan.isSealed { try await Self.makeSealingKeys(program: program, in: directory) }
        // The phones need the first gateway's port before there is a gateway.
        simulatorPorts = (try freePort(), try freePort())
        let firstGatewayPort = try freePort()
        simulator = try Self.startSimulator(
            program: program, plan: plan, in: directory, ports: simulatorPorts, reportTo: firstGatewayPort,
            for: mainApp)
        try await simulator.waitForOutput(containing: "The APNs simulator serves.")
        for stage in plan.stages {
            for number in 0..<plan.processesPerStage {
                let isFirstGateway = stage == .gateway && number == 0
                _ = try addProcess(of: stage, port: isFirstGateway ? firstGatewayPort : nil)
            }
        }
        try await waitForGateways()
    }

    private static func startBroker(program: String, in directory: String) async throws -> RestartableProcess
    {
        // `RestartableProcess` replaces PORT by the port that it chooses.
        try await RestartableProcess(
            program: program,
            arguments: [
                "broker", "--listen", "127.0.0.1:PORT", "--data", "\(directory)/broker",
                "--admin-listen", "127.0.0.1:0",
            ])
    }

    private static func makeSealingKeys(program: String, in directory: String) async throws {
        let keyMaker = try ChildProcess(
            program, arguments: ["sealing-keys", "make", "\(directory)/sealing-keys"])
        guard try await keyMaker.exitStatus() == 0 else { throw FleetFailure(keyMaker.errors) }
    }

    /// Writes the simulator's files, and starts it with phones that have one app.
    private static func startSimulator(
        program: String, plan: FleetPlan, in directory: String, ports: (production: Int, control: Int),
        reportTo gatewayPort: Int, for fleetApp: FleetApp
    ) throws -> ChildProcess {
        let data = "\(directory)/apns"
        unsafe mkdir(data, 0o700)
        _ = try SimulatorCredentials.loadKey(id: keyID, teamID: team, directory: data)
        let portal = """
            {"apps": [{"bundleId": "\(fleetApp.app.bundleID)"}, {"bundleId": "com.example.news"}],
             "keys": [{"keyId": "\(keyID)", "teamId": "\(team)"}]}
            """
        try portal.write(toFile: "\(data)/portal.json", atomically: true, encoding: .utf8)
        try plan.script.write(toFile: "\(data)/script.json", atomically: true, encoding: .utf8)
        return try ChildProcess(
            program,
            arguments: [
                "apns-simulator", "--data", data, "--port", String(ports.production), "--sandbox-port", "0",
                "--channels-port", "0", "--sandbox-channels-port", "0", "--control-listen",
                "127.0.0.1:\(ports.control)", "--portal", "\(data)/portal.json", "--script",
                "\(data)/script.json", "--records", "\(data)/records", "--phones", String(plan.phones),
                "--phone-app", fleetApp.app.bundleID, "--phone-types", fleetApp.app.activityTypes[0].name,
                "--report-app", fleetApp.app.id, "--report-to", "127.0.0.1:\(gatewayPort)",
            ], environment: ["FLOTILLA_APNS_SIMULATOR_REPORT_KEY": fleetApp.reportKey])
    }

    /// Waits until all gateways accept requests.
    func waitForGateways() async throws {
        for gateway in members where gateway.stage == .gateway {
            try await gateway.process.waitForOutput(containing: Self.catalogReadMessage)
        }
    }

    // MARK: Processes of stages

    /// Starts another process of a stage, and does not wait until it is ready.
    ///
    /// - Parameter port: The port of a gateway. Nil means any free port.
    package func addProcess(of stage: FleetPlan.Stage, port: Int? = nil) throws -> FleetMember {
        let number = members.count { $0.stage == stage }
        let name = "\(stage.rawValue)-\(number)"
        var arguments =
            ["run", stage.rawValue, "--data", "\(directory)/\(name)"] + clusterArguments + [
                "--admin-listen", "127.0.0.1:0", "--log-format", "text",
            ]
        if plan.isSealed { arguments += ["--tokens-sealing-keys-file", "\(directory)/sealing-keys"] }
        switch stage {
        case .gateway: arguments += try gatewayArguments(number: number, port: port)
        case .sender: arguments += senderArguments
        case .ingest, .fanOut, .scheduler, .insight: break
        }
        var clock: SettableClock?
        if let library = plan.wrongClock {
            clock = try SettableClock(file: "\(directory)/\(name).clock", library: library)
        }
        let member = try FleetMember(
            stage: stage, number: number, program: program, arguments: arguments, clock: clock)
        members.append(member)
        return member
    }

    /// - Parameter port: The port to listen on. Nil means any free port.
    private func gatewayArguments(number: Int, port: Int?) throws -> [String] {
        let port = try port ?? freePort()
        portsOfGateways[number] = port
        // All requests come from one address. The limits are so high that they are never reached.
        return [
            "--gateway-listen", "127.0.0.1:\(port)", "--gateway-key-rate", "1000000",
            "--gateway-peer-rate", "1000000", "--gateway-peer-reports", "1000000", "--gateway-peer-bytes",
            "1GiB", "--gateway-installation-rate", "1000000",
        ]
    }

    private var senderArguments: [String] {
        let arguments = [
            "--sender-keys", "\(directory)/apns", "--sender-apns-production",
            "localhost:\(simulatorPorts.production)", "--sender-apns-authorities",
            "\(directory)/apns/ca.pem",
        ]
        guard let permits = plan.permits else { return arguments }
        return arguments + ["--sender-permits", String(permits)]
    }

    /// The arguments of every process and command.
    private var clusterArguments: [String] {
        [
            "--kafka-brokers", bed.settings.brokers.joined(separator: ","), "--topics-prefix",
            bed.layout.prefix, "--topics-lanes", String(plan.lanes),
        ]
    }

    // MARK: State files

    /// Restarts a process without its files, as an operator does with `replay rebuild`, while the others work.
    ///
    /// - Parameter copy: The path for a copy of the discarded state.
    package func rebuildState(of member: FleetMember, copyingTo copy: String? = nil) async throws {
        try await member.restart {
            if let copy { try FileManager.default.copyItem(atPath: dataDirectory(of: member), toPath: copy) }
            _ = try await runCommand([
                "replay", "rebuild", "--stage", member.stage.rawValue, "--data", dataDirectory(of: member),
                "--yes",
            ])
        }
    }

    /// Returns the content of a stopped process's files after they have caught up with their topics. For that the
    /// process starts and stops again.
    ///
    /// - Parameter copy: The path of the files to start with, or nil for its present files.
    package func state(of member: FleetMember, from copy: String? = nil) async throws -> FleetState {
        if let copy {
            try FileManager.default.removeItem(atPath: dataDirectory(of: member))
            try FileManager.default.moveItem(atPath: copy, toPath: dataDirectory(of: member))
        }
        try await member.startAgain()
        try await eventually("the state of \(member.name) is as far as its topics") {
            let appliedOffsets = try await member.appliedOffsets()
            return try member.stage.views.allSatisfy { view in
                try (0..<Int32(bed.layout.partitionCount(of: view))).allSatisfy { partition in
                    let topicPartition = TopicPartition(bed.layout.name(of: view), partition)
                    let end = try bed.admin.watermarks(of: topicPartition).high
                    // A view without any record reports no offset.
                    return end == appliedOffsets["\(view.rawValue)/\(partition)"] ?? 0
                }
            }
        }
        try await member.retire()
        return try await FleetState(under: dataDirectory(of: member))
    }

    // MARK: Ends, commands and files

    /// Stops the gateways and waits until the accepted records are read.
    package func stopGateways() async throws {
        for member in members where member.stage == .gateway && !member.isRetired {
            try await member.retire()
        }
        try await eventually("reports, sends and schedules are read") {
            bed.isEverythingRead(by: "ingest", in: [.reports])
                && bed.isEverythingRead(by: "planner", in: [.sends])
                && bed.isEverythingRead(by: "scheduler", in: [.schedules])
        }
    }

    private func dataDirectory(of member: FleetMember) -> String {
        "\(directory)/\(member.stage.rawValue)-\(member.number)"
    }

    /// Runs one of the operator's commands and returns its output.
    package func runCommand(_ arguments: [String]) async throws -> String {
        let process = try ChildProcess(program, arguments: arguments + clusterArguments)
        guard try await process.exitStatus() == 0 else {
            throw FleetFailure("\(arguments): \(process.errors)")
        }
        return process.output
    }

    /// The ports of the gateways that are neither retired nor frozen.
    package var gatewayPorts: [Int] {
        members.compactMap {
            $0.stage == .gateway && !$0.isRetired && !$0.isFrozen ? portsOfGateways[$0.number] : nil
        }
    }

    /// The port of the simulator's control API.
    package var controlPort: Int { simulatorPorts.control }
    /// The path of the simulator's records of pushes.
    package var recordsPath: String { "\(directory)/apns/records" }
    package var brokerDirectory: String { "\(directory)/broker" }
    package var sealingKeysPath: String? { plan.isSealed ? "\(directory)/sealing-keys" : nil }

    /// Writes the output of each process to a file beside its data.
    package func writeLogs() throws {
        try broker?.logs.write(toFile: "\(directory)/broker.log", atomically: true, encoding: .utf8)
        for member in members {
            try member.logs.joined(separator: "\n").write(
                toFile: "\(directory)/\(member.stage.rawValue)-\(member.number).log", atomically: true,
                encoding: .utf8)
        }
    }

    /// Stops all processes of stages with SIGTERM, and kills the simulator.
    package func stop() async throws {
        for member in members where !member.isRetired { try await member.retire() }
        simulator.send(signal: SIGKILL)
        _ = try await simulator.exitStatus()
    }
}
