internal import FanOutTesting
internal import IngestTesting

enum ExpanderKillsProof {
    static func run(_ arguments: [String]) throws {
        var plan = ExpanderKills.Plan()
        plan.phones = 1_000_000
        plan.randomKills = 100
        let proof = KillsProof<ExpanderKills.Plan>(
            name: "fan-out-kills",
            claim:
                "each token has exactly one job of each send, and no kill repeated more than one page of each lane",
            flags: ["--phones": \.phones])
        try proof.run(plan, arguments) { plan, program, bed, directory in
            let result = try await ExpanderKills(plan, program: program, bed: bed, directory: directory).run()
            return .init(
                kills: result.kills, stepsMet: result.stepsMet,
                counts:
                    "\(result.sends) sends, \(result.jobs) jobs; \(result.redone) jobs were written again",
                fault: result.fault)
        }
    }
}
