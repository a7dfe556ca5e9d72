internal import Catalog
internal import Cryptography
internal import JSON
internal import Lifecycle
internal import LiveActivity
internal import Telemetry

/// `flotilla apps user-proof APP`: the secrets with which an app's own server proves who a user is.
struct UserProofChange {
    static let options: [(flag: String, takesValue: Bool, sentence: String)] = [
        ("--new", false, "user-proof: makes a secret and prints it once; the previous one stays valid"),
        ("--retire", false, "user-proof: makes the older of two secrets invalid"),
        (
            "--require", true,
            "user-proof: yes refuses a phone's report that names a user without a proof; no accepts it"
        ),
        ("--off", false, "user-proof: with --yes, deletes the secrets; then no report needs a proof"),
    ]

    private let invocation: Invocation
    private let app: App
    private let catalog: CatalogAccess

    init(_ invocation: Invocation, of app: App, in catalog: CatalogAccess) throws {
        (self.invocation, self.app, self.catalog) = (invocation, app, catalog)
    }

    private func isAsked(_ flag: String) -> Bool { invocation.options[flag] != nil }

    func run() throws {
        let asked = ["--new", "--retire", "--off"].filter(isAsked)
        guard asked.count <= 1 else {
            throw Refusal(status: .usage, "use one of --new, --retire and --off at a time")
        }
        var changed = app
        var made: String?
        switch asked.first {
        case "--new": made = try addSecret(to: &changed)
        case "--retire": try retire(in: &changed)
        case "--off": try forget(in: &changed)
        default: break
        }
        if let word = invocation.options["--require"] { try require(word, in: &changed) }
        if changed != app { try catalog.writer().put(changed, action: "app.user-proof", now: .now()) }
        show(changed, made: made)
    }

    private func addSecret(to app: inout App) throws -> String {
        guard let keys = try SealingKeyFile.read(invocation.settings, for: catalog.catalog) else {
            throw Refusal(
                status: .configuration,
                "the secret is stored in the catalog and would be readable there; make sealing keys, give them to every process, and name their file with tokens.sealing-keys-file"
            )
        }
        var proof = app.userProof ?? UserProofSettings(isRequired: false, secrets: [])
        guard proof.secrets.count < UserProofSettings.secretsMax else {
            throw Refusal(
                status: .usage,
                "there are two secrets already; remove the older one with --retire when no server uses it"
            )
        }
        let secret = Hex.text(of: Random.bytes(count: UserProofSettings.secretBytes))
        // The server gets the secret as text, and the bytes of this text are the key. So no language can
        // decode it wrongly.
        let sealed = TokenSeal(keys: keys).seal(
            secret: Array(secret.utf8), app: app.id, name: UserProofSettings.secretName)
        guard let sealed else {
            throw Refusal(status: .configuration, "the sealing keys cannot seal the secret")
        }
        proof.secrets.append(.init(createdAt: WallTime.now().milliseconds, sealed: sealed))
        app.userProof = proof
        return secret
    }

    private func retire(in app: inout App) throws {
        guard app.userProof?.secrets.count == UserProofSettings.secretsMax else {
            throw Refusal(status: .usage, "there is no older secret; make the next one with --new first")
        }
        app.userProof?.secrets.removeFirst()
    }

    private func forget(in app: inout App) throws {
        guard isAsked("--yes") else {
            throw Refusal(
                status: .usage,
                "without secrets, anyone with a report key can report a phone as any user's; confirm with --yes"
            )
        }
        app.userProof = nil
    }

    private func require(_ word: String, in app: inout App) throws {
        guard word == "yes" || word == "no" else {
            throw Refusal(status: .usage, "--require takes yes or no")
        }
        guard app.userProof != nil else {
            throw Refusal(status: .usage, "there is no secret yet; make one with --new")
        }
        app.userProof?.isRequired = word == "yes"
    }

    private func show(_ app: App, made: String?) {
        let proof = app.userProof
        if isAsked("--json") {
            var line = JSONLine()
            line.field("app", app.id)
            line.field("required", proof?.isRequired == true ? "yes" : "no")
            line.field("secrets", Int64(proof?.secrets.count ?? 0))
            if let made { line.field("secret", made) }
            print(line.text)
        } else if let made {
            // Only the secret is printed, for `SECRET=$(flotilla apps user-proof shop --new)`.
            print(made)
        } else if let proof {
            let times = proof.secrets.map { WallTime(milliseconds: $0.createdAt).rfc3339 }
            print("\(app.id): \(times.count) secrets, made \(times.joined(separator: " and "))")
            print(
                proof.isRequired
                    ? "a report that names a user needs a proof"
                    : "a proof is optional, and is checked if it is present")
        } else {
            print("\(app.id) has no secret: anyone with a report key can report a phone as any user's")
        }
    }
}
