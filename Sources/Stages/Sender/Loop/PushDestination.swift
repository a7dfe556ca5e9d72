package import APNs
internal import Cryptography
internal import Settings
package import StageSupport
internal import TLS

/// The APNs hosts and provider keys of a sender: those of its settings, or those of the APNs simulator that runs in the
/// same process.
package struct PushDestination {
    package let apns: APNsSettings
    package let keys: ProviderKeySource

    package init(_ settings: SenderSettings, standIn simulator: EmbeddedAPNsSimulator.AccessDetails? = nil) {
        var apns = APNsSettings()
        // Each loop opens its first connection at once.
        apns.connectBurst = settings.loops
        if let simulator {
            apns.production = Self.hosts(HostPort(host: simulator.host, port: simulator.productionPort))
            apns.sandbox = Self.hosts(HostPort(host: simulator.host, port: simulator.sandboxPort))
            apns.trust = .authorities(.file(simulator.authorityFile))
            keys = .files([
                ProviderKeyName(teamID: simulator.teamID, keyID: simulator.keyID): simulator.keyFile
            ])
        } else {
            if let production = settings.production { apns.production = Self.hosts(production) }
            if let sandbox = settings.sandbox { apns.sandbox = Self.hosts(sandbox) }
            if !settings.authorities.isEmpty { apns.trust = .authorities(.file(settings.authorities)) }
            keys = settings.keysDirectory.isEmpty ? .files([:]) : .directory(settings.keysDirectory)
        }
        self.apns = apns
    }

    private static func hosts(_ address: HostPort) -> APNsSettings.Hosts {
        let endpoint = Endpoint(host: address.host, port: address.port)
        return APNsSettings.Hosts(push: endpoint, broadcast: endpoint, channels: endpoint)
    }
}
