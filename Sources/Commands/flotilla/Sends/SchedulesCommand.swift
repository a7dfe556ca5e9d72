internal import Gateway
internal import JSON
internal import Lifecycle
internal import Telemetry

extension Command {
    /// `flotilla schedules`: lists or cancels the schedules and sends that wait for their time.
    static let schedules = Command(
        name: "schedules", summary: "Shows or cancels schedules and sends that wait for their time.",
        usage: "[list | cancel] --app APP (--user USER | --group GROUP) [options]",
        example: "flotilla schedules cancel --app shop --user jane --activity chest_timer",
        settings: ["topics.", "kafka."],
        options: [
            .value("--app", "the app's id"),
            .value("--user", "the user whose schedules are listed or cancelled"),
            .value("--group", "the group whose waiting sends are listed or cancelled"),
            .value("--activity", "cancel: all schedules of this activity"),
            .value("--id", "cancel: one schedule"),
            .flag("--json", "prints one JSON object instead of a table"),
        ]
    ) { invocation in
        let app = try invocation.requireApp()
        let isCancellation: Bool
        switch (invocation.positionals.first ?? "list", invocation.positionals.count) {
        case ("list", 0...1): isCancellation = false
        case ("cancel", 1): isCancellation = true
        default: throw CommandError(status: .usage, "use list or cancel")
        }
        let selection = ["user", "group", "activity", "id"].compactMap { name in
            invocation.options["--\(name)"].map { (name: name, value: $0) }
        }
        let answer = try mappingRefusals {
            try operatorSends(for: invocation).schedules(
                matching: selection, of: app, cancelling: isCancellation, now: .now())
        }
        if invocation.isJSON { return print(String(decoding: answer, as: UTF8.self)) }
        try JSONReader().read(answer) { root in
            let object = root.object()
            print(isCancellation ? cancellationText(of: object) : tableText(of: object))
        }
    }

    private static func cancellationText(of answer: JSONObject) -> String {
        guard let count = answer["canceled"].optional else {
            return "stored; the scheduler has not answered yet and cancels them when it runs"
        }
        let tooLate = answer["tooLate"].optional.map { ", \($0.int()) were already sent" } ?? ""
        return "cancelled \(count.int())\(tooLate)"
    }

    private static func tableText(of answer: JSONObject) -> String {
        var rows: [[String]] = []
        for item in answer["items"].array(countMax: .max) {
            let item = item.object()
            rows.append([
                item["scheduleId"].string(), item["scheduleName"].optional?.string() ?? "–",
                item["activity"].optional?.string() ?? "–", item["event"].string(),
                WallTime(milliseconds: item["dueAt"].timeMilliseconds()).rfc3339,
            ])
        }
        if rows.isEmpty { return "nothing waits" }
        let more = answer["next"].isMissing ? "" : "\nmore wait for a later time"
        return Table(headers: ["schedule", "name", "activity", "event", "goes at"], rows: rows).text + more
    }
}
