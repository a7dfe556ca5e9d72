internal import CatalogRecords
internal import Cryptography
internal import Identifiers
internal import Telemetry
internal import TokenSealing

/// The check that a request may act for a user, by a `UserProof`. Confined to one thread.
final class UserProofCheck {
    enum ProofVerdict {
        case valid
        case missing
        case wrong
        case expired
        /// The proof is for another installation than the request.
        case ofOtherInstallation
        /// The app requires the form that expires.
        case withoutExpiry
        /// This gateway's sealing keys do not open the app's secrets.
        case uncheckable
    }

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
    ///   - installation: The installation of the request, or nil if the request names none.
    ///   - proof: The proof in hexadecimal, or nil if the request has none.
    ///   - isTrusted: Whether the request comes from the app's own server, whose key is sufficient proof.
    func verdict(
        on user: String, of installation: String?, proof text: String?, for app: App, isTrusted: Bool,
        now: WallTime
    ) -> ProofVerdict {
        guard let settings = app.userProof, !settings.secrets.isEmpty else { return .valid }
        guard let text else {
            let mayOmitProof = isTrusted || settings.requirement == .optional
            return mayOmitProof ? .valid : .missing
        }
        guard let secrets = secrets(of: app, settings: settings) else { return .uncheckable }
        guard let proof = UserProof(text) else { return .wrong }
        let message = proof.message(for: user)
        var matches = false
        // All secrets are compared, so that the time does not reveal which one matched.
        for secret in secrets
        where isEqualInConstantTime(secret.authenticationCode(for: message), proof.code) {
            matches = true
        }
        guard matches else { return .wrong }
        switch proof {
        case .simple:
            let mustExpire = settings.requirement == .expiring && !isTrusted
            return mustExpire ? .withoutExpiry : .valid
        case .expiring(_, let expiresAtSeconds, let provenInstallation):
            if expiresAtSeconds * 1000 <= now.milliseconds { return .expired }
            let isOther = installation.map { !$0.isExactlyEqual(to: provenInstallation) } ?? false
            return isOther ? .ofOtherInstallation : .valid
        }
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

extension UserProofCheck.ProofVerdict {
    /// The code and the message of a proof that is not accepted. Nil for a valid one.
    var problem: (code: String, message: String)? {
        switch self {
        case .valid: nil
        case .missing:
            (
                "user_proof_missing",
                "needs a userProof in this app, made by your server: see User proofs in the operator's book"
            )
        case .wrong:
            (
                "user_proof_wrong",
                "must be the hex HMAC-SHA256 of the user id, or SECONDS.HMAC.INSTALLATION, made with a secret from `flotilla apps user-proof`"
            )
        case .expired: ("user_proof_expired", "has expired; get a new proof from your server")
        case .ofOtherInstallation:
            (
                "user_proof_wrong",
                "is for another installation; get a proof for this one from your server"
            )
        case .withoutExpiry:
            (
                "user_proof_wrong",
                "must have the form SECONDS.HMAC.INSTALLATION, because this app requires proofs that expire"
            )
        case .uncheckable:
            (
                "user_proof_wrong",
                "cannot be checked: this gateway's sealing keys do not open the app's secrets"
            )
        }
    }
}
