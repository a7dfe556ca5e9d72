internal import IngestTesting

/// The kill test of ingest, with more reports and kills than in the tests (`IngestKillTest`). Two processes of the stage
/// die at every step and at random while reports arrive. At the end the registry and the events must equal the model's.
enum IngestKillsProof {
    static func run(arguments: [String]) throws {
        var plan = IngestKillTest.Plan()
        plan.reports = 100_000
        plan.installations = 20_000
        plan.randomKills = 300
        let proof = KillsProof<IngestKillTest.Plan>(
            name: "ingest-kills",
            claim: "the registry and the events are exactly those that the model makes from the reports",
            flags: ["--reports": \.reports, "--installations": \.installations])
        // The command line can change the plan, so the test gets the plan that `run` passes on.
        try proof.run(plan: plan, arguments: arguments) { plan, program, bed, directory in
            let result = try await IngestKillTest(
                plan: plan, program: program, bed: bed, directory: directory
            ).run()
            return .init(
                kills: result.killCount, stepsMet: result.reachedSteps,
                counts: "\(result.reports) records of reports, \(result.rows) rows, \(result.events) events, "
                    + "\(result.deadLetters) dead letters",
                fault: result.fault)
        }
    }
}
