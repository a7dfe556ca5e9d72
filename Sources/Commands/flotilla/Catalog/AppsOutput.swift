internal import CatalogRecords
internal import Identifiers
internal import RecordFormat

/// The output of apps: a table for people, or a JSON object per line for programs.
struct AppsOutput {
    private let apps: [App]

    init(_ apps: [App]) { self.apps = apps }

    func show(for invocation: Invocation) {
        if invocation.isJSON {
            for var app in apps {
                // The output is what `--file` accepts. It shows no secrets, not even sealed ones.
                app.userProof = nil
                print(String(decoding: app.encoded(), as: UTF8.self))
            }
        } else if apps.isEmpty {
            print("no app yet; `flotilla apps create --help` says how to make one")
        } else {
            let headers = ["app", "bundle id", "environments", "team", "key", "activity types"]
            print(Table(headers: headers, rows: apps.map(cells)).text)
        }
    }

    private func cells(of app: App) -> [String] {
        [
            app.id, app.bundleID, app.environments.map(\.rawValue).joined(separator: ","), app.teamID,
            app.keyID,
            app.activityTypes.isEmpty ? "none" : app.activityTypes.map(\.name).joined(separator: ","),
        ]
    }
}
