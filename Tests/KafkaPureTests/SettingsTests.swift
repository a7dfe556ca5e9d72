import Glibc
import ProcessTesting
import Testing

@testable import Kafka

// The checks of Kafka settings: brokers, security, and files with secrets.

@Test func `a missing broker is reported in one sentence`() {
    #expect(
        KafkaSettings(brokers: []).problems()
            == ["kafka.brokers is empty; name at least one broker as host:port"])
}

@Test(arguments: [
    "kafka", "kafka:", ":9092", "kafka:0", "kafka:65536", "kafka:nine", "kafka:+9092", "a b:1", "a,b:1",
])
func `a broker must be host and port`(broker: String) {
    #expect(
        KafkaSettings(brokers: ["ok:9092", broker]).problems()
            == ["kafka.brokers names \"\(broker)\", which is not host:port with a port of 1 to 65535"])
}

@Test(arguments: ["kafka:9092", "127.0.0.1:1", "[::1]:65535"])
func `host names and addresses are valid brokers`(broker: String) {
    #expect(KafkaSettings(brokers: [broker]).problems().isEmpty)
}

@Test func `all problems are reported at once`() throws {
    let directory = try TemporaryDirectory()
    var settings = KafkaSettings(brokers: ["kafka"])
    settings.security = .scramOverTLS
    settings.certificateAuthorityFile = directory.path + "/missing.pem"
    settings.certificateFile = directory.path
    settings.passwordFile = try directory.writeFile(named: "empty", content: "\n")
    settings.properties = ["enable.auto.commit": "true", "enable.ssl.certificate.verification": "false"]
    #expect(
        settings.problems() == [
            "kafka.brokers names \"kafka\", which is not host:port with a port of 1 to 65535",
            "kafka.ca-file names \(directory.path)/missing.pem, which cannot be read: no such file or directory",
            "kafka.certificate-file names \(directory.path), which cannot be read: it is a directory",
            "kafka.certificate-file and kafka.key-file belong together; set both or neither",
            "kafka.scram.user is missing; kafka.security.protocol scram-tls needs it",
            "kafka.scram.password-file names \(directory.path)/empty, which is empty",
            "kafka.properties sets enable.auto.commit, on which Flotilla's guarantees depend; remove it",
            "kafka.properties sets enable.ssl.certificate.verification, on which Flotilla's guarantees depend; remove it",
        ])
}

@Test func `a named pipe is no certificate file, and the check does not wait for it`() async throws {
    let directory = try TemporaryDirectory()
    var settings = KafkaSettings(brokers: ["kafka:9092"])
    settings.security = .tls
    let path = directory.path + "/pipe"
    #expect(mkfifo(path, 0o600) == 0)
    settings.certificateAuthorityFile = path
    settings.keyPasswordFile = try directory.writeFile(named: "password", content: "x")
    #expect(chmod(directory.path + "/password", 0o600) == 0)
    let problems = try await promptResult("the check of the settings ends") { [settings] in
        settings.problems()
    }
    #expect(
        problems == [
            "kafka.ca-file names \(path), which cannot be read: it is not a file",
            "kafka.key-password-file is set without kafka.key-file; set both, or remove it",
        ])
}

@Test func `secrets for a protocol that does not use them are an error`() throws {
    let directory = try TemporaryDirectory()
    var settings = KafkaSettings(brokers: ["kafka:9092"])
    settings.certificateAuthorityFile = try directory.writeFile(named: "ca.pem", content: "x")
    settings.user = "flotilla"
    #expect(
        settings.problems() == [
            "kafka.ca-file is set but kafka.security.protocol is plaintext; set it to tls or scram-tls",
            "kafka.scram.user or kafka.scram.password-file is set but kafka.security.protocol is plaintext; set it to scram-tls",
        ])
}

@Test func `a password or key file that other users can read is refused`() throws {
    let directory = try TemporaryDirectory()
    var settings = KafkaSettings(brokers: ["kafka:9092"])
    settings.security = .scramOverTLS
    settings.user = "flotilla"
    settings.certificateFile = try directory.writeFile(named: "certificate.pem", content: "x")
    settings.keyFile = try directory.writeFile(named: "key.pem", content: "x")
    settings.keyPasswordFile = try directory.writeFile(named: "key-password", content: "x")
    settings.passwordFile = try directory.writeFile(named: "password", content: "x")
    func protect(_ mode: mode_t) {
        for file in ["key.pem", "key-password", "password"] {
            #expect(chmod(directory.path + "/" + file, mode) == 0)
        }
    }
    protect(0o644)
    let problems = settings.problems()
    #expect(problems.count == 3)
    #expect(problems.allSatisfy { $0.contains("can be read by others") && $0.contains("mode 644") })
    // The mode of Kubernetes secrets: owned by root, readable by a group.
    protect(0o440)
    #expect(settings.problems() == [])
}

/// Kafka needs up to 13 s until another coordinator answers after the death of a node. Clients notice it a second later,
/// and a member considers its partitions uncertain two seconds before its session ends.
@Test func `a session outlasts the death of a node, and a member sends a heartbeat every second`() {
    let options = ConsumerOptions(membership: .manual)
    let usableMilliseconds = options.sessionMilliseconds - Consumer.sessionMarginMilliseconds
    #expect(usableMilliseconds - options.heartbeatMilliseconds >= 13_000)
    #expect(options.heartbeatMilliseconds == 1000)
}
