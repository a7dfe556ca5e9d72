internal import FanOutTesting
internal import IngestTesting

/// The kill test of the expander, with more phones and kills than in the tests (`ExpanderKillTest`). Two processes die at
/// every step and at random while sends expand. At the end each token must have exactly one job of each send.
enum ExpanderKillsProof {
    static func run(arguments: [String]) throws {
        var plan = ExpanderKillTest.Plan()
        plan.phones = 1_000_000
        plan.randomKills = 100
        let proof = KillsProof<ExpanderKillTest.Plan>(
            name: "fan-out-kills",
            claim:
                "each token has exactly one job of each send, and no kill repeated more than one page of each lane",
            flags: ["--phones": \.phones])
        // The command line can change the plan, so the test gets the plan that `run` passes on.
        try proof.run(plan: plan, arguments: arguments) { plan, program, bed, directory in
            let result = try await ExpanderKillTest(
                plan: plan, program: program, bed: bed, directory: directory
            ).run()
            return .init(
                kills: result.killCount, stepsMet: result.reachedSteps,
                counts:
                    "\(result.sends) sends, \(result.jobs) jobs; \(result.rewrittenJobs) jobs were written again",
                fault: result.fault)
        }
    }
}
