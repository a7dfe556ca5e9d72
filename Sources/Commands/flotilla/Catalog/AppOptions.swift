internal import Catalog
internal import CatalogRecords
internal import FoundationEssentials
internal import Identifiers
internal import JSON
internal import Lifecycle

/// The options of `flotilla apps create` and `update` that describe an app. They replace fields of the file
/// of `--file`, or of the stored app.
struct AppOptions {
    private let options: [String: String]

    init(of invocation: Invocation) { options = invocation.options }

    /// - Parameter storedApp: nil for a new app.
    func app(id: String, basedOn storedApp: App?) throws -> App {
        do {
            var base = storedApp
            if let file = options["--file"] {
                base = try AppDocument.parse(Self.contents(ofFile: file), id: id)
            }
            var app = try AppDocument.parse(document(basedOn: base), id: id)
            // The document holds no secrets, so the stored user proof stays.
            app.userProof = storedApp?.userProof
            if let answer = options["--unproven-schedules"] {
                app.allowsUnprovenSchedules = try Self.isYes(answer, for: "--unproven-schedules")
            }
            return app
        } catch let error as JSONError {
            let lines = error.problems.map { "app \(id): \($0)" }
            throw CommandError(status: .dataError, lines.joined(separator: "\n"))
        }
    }

    /// Returns the app in JSON, which is then checked by the rules for documents that come from outside.
    private func document(basedOn base: App?) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        func writeField(_ name: StaticString, flag: String, stored storedValue: String?) {
            guard let value = options[flag] ?? storedValue else { return }
            json.name(name)
            json.value(value)
        }
        writeField("bundleId", flag: "--bundle-id", stored: base?.bundleID)
        writeField("teamId", flag: "--team-id", stored: base?.teamID)
        if let file = options["--key-id"], file.contains(".") {
            // The value has a dot, so it is the name of a file and not a key id. The document's rules refuse this field
            // and explain why.
            json.name(file.hasSuffix(".p8") ? "p8" : "certificate")
            json.value(file)
        } else {
            writeField("keyId", flag: "--key-id", stored: base?.keyID)
        }
        json.name("environments")
        json.beginArray()
        let optionEnvironments = options["--environments"]?.split(separator: ",").map(String.init)
        let baseEnvironments = base?.environments.map(\.rawValue)
        for environment in optionEnvironments ?? baseEnvironments ?? ["production"] {
            json.value(environment)
        }
        json.endArray()
        json.name("activityTypes")
        json.beginArray()
        for type in base?.activityTypes ?? [] { type.write(to: &json) }
        json.endArray()
        if base?.allowsUnprovenSchedules == true { json.field("unprovenSchedules", true) }
        json.endObject()
        return json.bytes
    }

    /// Returns the meaning of `yes` or `no`.
    static func isYes(_ answer: String, for option: String) throws -> Bool {
        guard answer == "yes" || answer == "no" else {
            throw CommandError(status: .usage, "\(option) takes yes or no")
        }
        return answer == "yes"
    }

    private static func contents(ofFile file: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw CommandError(status: .noInput, "cannot read \(file); name a JSON file with --file")
        }
        return Array(data)
    }
}
