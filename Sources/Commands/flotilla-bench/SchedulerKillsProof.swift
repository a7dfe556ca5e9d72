internal import SchedulerTesting

enum SchedulerKillsProof {
    static func run(_ arguments: [String]) throws {
        var plan = SchedulerKills.Plan()
        plan.orders = 100_000
        plan.randomKills = 180
        let proof = KillsProof<SchedulerKills.Plan>(
            name: "scheduler-kills",
            claim:
                "each schedule is answered once, each timer has one outcome, the newest generation of each group ends, and no cancel in time was ignored",
            flags: ["--orders": \.orders])
        try proof.run(plan, arguments) { plan, program, bed, directory in
            let result = try await SchedulerKills(plan, program: program, bed: bed, directory: directory)
                .run()
            return .init(
                kills: result.kills, stepsMet: result.stepsMet,
                counts: "\(result.fired) fired, \(result.canceled) cancelled, \(result.replaced) replaced, "
                    + "\(result.ended) ends of groups, \(result.deadLetters) dead letters",
                fault: result.fault)
        }
    }
}
