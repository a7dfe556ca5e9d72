internal import Catalog
internal import CatalogRecords
internal import Cryptography
internal import Identifiers
internal import JSON
internal import Lifecycle
internal import Telemetry
internal import TokenSealing

/// One call of `flotilla apps user-proof APP`: shows or changes the secrets with which an app's own server
/// proves the user of a phone. An app has at most two secrets, the older one first, so that its server can
/// change over without a gap.
struct UserProofChange {
    static let options: [CommandOption] = [
        .flag("--new", "user-proof: makes a secret and prints it once; the previous one stays valid"),
        .flag("--retire", "user-proof: makes the older of two secrets invalid"),
        .value(
            "--require",
            "user-proof: which reports that name a user are refused. yes: those without a proof; expiring: also those whose proof lacks an expiry or an installation; no: none, but a proof that is present must be right"
        ),
        .flag("--off", "user-proof: with --yes, deletes the secrets; then no report needs a proof"),
    ]

    private let invocation: Invocation
    private let app: App
    private let catalog: CatalogAccess

    init(for invocation: Invocation, of app: App, in catalog: CatalogAccess) {
        self.invocation = invocation
        self.app = app
        self.catalog = catalog
    }

    func run() throws {
        let actions = ["--new", "--retire", "--off"].filter { invocation.hasOption($0) }
        guard actions.count <= 1 else {
            throw CommandError(status: .usage, "use one of --new, --retire and --off at a time")
        }
        var changed = app
        var newSecret: String?
        switch actions.first {
        case "--new": newSecret = try addSecret(to: &changed)
        case "--retire": try retireSecret(of: &changed)
        case "--off": try deleteSecrets(of: &changed)
        default: break
        }
        if let answer = invocation.options["--require"] { try setRequirement(answer, of: &changed) }
        if changed != app { try catalog.makeWriter().write(.put(changed, action: "user-proof"), now: .now()) }
        show(changed, newSecret: newSecret)
    }

    /// Adds a secret and returns it. The catalog gets it sealed.
    private func addSecret(to app: inout App) throws -> String {
        guard let keys = try SealingKeyFile.read(settings: invocation.settings, for: catalog.snapshot) else {
            throw CommandError(
                status: .configuration,
                "the secret is stored in the catalog and would be readable there; make sealing keys, give them to every process, and name their file with tokens.sealing-keys-file"
            )
        }
        var proof = app.userProof ?? UserProofSettings(requirement: .optional, secrets: [])
        guard proof.secrets.count < UserProofSettings.secretsMax else {
            throw CommandError(
                status: .usage,
                "there are two secrets already; remove the older one with --retire when no server uses it"
            )
        }
        let secret = Hex.text(of: Random.bytes(count: UserProofSettings.secretBytes))
        // The secret is text, and the bytes of this text are the key. The app's server needs no decoding that could go
        // wrong.
        let sealed = TokenSeal(keys: keys).seal(
            secret: Array(secret.utf8), app: app.id, name: UserProofSettings.secretName)
        guard let sealed else {
            throw CommandError(status: .configuration, "the sealing keys cannot seal the secret")
        }
        proof.secrets.append(.init(createdAt: WallTime.now().milliseconds, sealed: sealed))
        app.userProof = proof
        return secret
    }

    private func retireSecret(of app: inout App) throws {
        guard app.userProof?.secrets.count == UserProofSettings.secretsMax else {
            throw CommandError(status: .usage, "there is no older secret; make the next one with --new first")
        }
        app.userProof?.secrets.removeFirst()
    }

    private func deleteSecrets(of app: inout App) throws {
        guard invocation.hasOption("--yes") else {
            throw CommandError(
                status: .usage,
                "without secrets, anyone with a report key can report a phone as any user's; confirm with --yes"
            )
        }
        app.userProof = nil
    }

    private func setRequirement(_ answer: String, of app: inout App) throws {
        guard let requirement = UserProofSettings.Requirement(rawValue: answer) else {
            throw CommandError(status: .usage, "--require must be yes, expiring or no")
        }
        guard app.userProof != nil else {
            throw CommandError(status: .usage, "there is no secret yet; make one with --new")
        }
        app.userProof?.requirement = requirement
    }

    private func show(_ app: App, newSecret: String?) {
        let proof = app.userProof
        if invocation.isJSON {
            let line = JSONLine.text { json in
                json.field("app", app.id)
                json.field("required", (proof?.requirement ?? .optional).rawValue)
                json.field("secrets", proof?.secrets.count ?? 0)
                json.field("secret", newSecret)
            }
            print(line)
        } else if let newSecret {
            // Nothing else is printed, for `SECRET=$(flotilla apps user-proof shop --new)`.
            print(newSecret)
        } else if let proof {
            let times = proof.secrets.map { WallTime(milliseconds: $0.createdAt).rfc3339 }
            print("\(app.id): \(times.count) secrets, made \(times.joined(separator: " and "))")
            switch proof.requirement {
            case .optional: print("a proof is optional, and is checked if it is present")
            case .any: print("a report that names a user needs a proof")
            case .expiring:
                print("a report that names a user needs a proof that expires and names the installation")
            }
            print("a proof that expires is SECONDS.HMAC.INSTALLATION: see User proofs in the operator's book")
        } else {
            print("\(app.id) has no secret: anyone with a report key can report a phone as any user's")
        }
    }
}
