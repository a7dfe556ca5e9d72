internal import CatalogRecords
internal import Cryptography
internal import Identifiers
internal import TokenSealing

/// The check that a request may act for a user. A user's proof is the HMAC-SHA256 of the user id with a secret
/// that the app's server knows. Confined to one thread.
final class UserProofCheck {
    enum ProofVerdict {
        case valid
        case missing
        case wrong
        /// This gateway's sealing keys do not open the app's secrets.
        case uncheckable
    }

    // Each text follows the field's name.
    static let missingMessage =
        "needs a userProof in this app: the hex HMAC-SHA256 of the user id, made by your server"
    static let wrongMessage =
        "must be the hex HMAC-SHA256 of the user id, made with a secret from `flotilla apps user-proof`"
    static let uncheckableMessage =
        "cannot be checked: this gateway's sealing keys do not open the app's secrets"

    private struct OpenedSecrets {
        /// The settings from which the secrets were opened.
        let settings: UserProofSettings
        /// Nil if not all secrets can be opened.
        let secrets: [HMACSHA256]?
    }

    /// Apps whose opened secrets are kept. Beyond it all are opened again when they are next needed.
    private static let appsMax = 1000

    let seal: TokenSeal
    /// Opened secrets by app, a few hundred bytes each. Only apps with secrets have an entry.
    private var openedSecrets: [String: OpenedSecrets] = [:]

    init(seal: TokenSeal) { self.seal = seal }

    /// Returns the verdict on a user's proof.
    ///
    /// - Parameters:
    ///   - proof: The proof in hexadecimal, or nil if the request has none.
    ///   - isTrusted: Whether the request comes from the app's own server, whose key is sufficient proof.
    func verdict(on user: String, proof: String?, for app: App, isTrusted: Bool) -> ProofVerdict {
        guard let settings = app.userProof, !settings.secrets.isEmpty else { return .valid }
        guard let proof else { return settings.isRequired && !isTrusted ? .missing : .valid }
        guard let secrets = secrets(of: app, settings: settings) else { return .uncheckable }
        guard let presented = Hex.decode(proof.utf8), presented.count == HMACSHA256.codeBytes else {
            return .wrong
        }
        var matches = false
        // All secrets are compared, so that the time does not reveal which one matched.
        for secret in secrets
        where isEqualInConstantTime(secret.authenticationCode(for: Array(user.utf8)), presented) {
            matches = true
        }
        return matches ? .valid : .wrong
    }

    /// Returns the app's opened secrets. They are opened again only after its settings have changed.
    private func secrets(of app: App, settings: UserProofSettings) -> [HMACSHA256]? {
        if let opened = openedSecrets[app.id], opened.settings == settings { return opened.secrets }
        let secrets = openSecrets(in: settings, of: app)
        if openedSecrets.count >= Self.appsMax { openedSecrets.removeAll() }
        openedSecrets[app.id] = OpenedSecrets(settings: settings, secrets: secrets)
        return secrets
    }

    private func openSecrets(in settings: UserProofSettings, of app: App) -> [HMACSHA256]? {
        var secrets: [HMACSHA256] = []
        for secret in settings.secrets {
            let name = UserProofSettings.secretName
            guard let key = try? seal.open(secret: secret.sealed, app: app.id, name: name) else { return nil }
            secrets.append(HMACSHA256(key: key))
        }
        return secrets
    }
}
