import Foundation
import ProcessTesting
import Testing

/// `flotilla doctor` on the installation of a demonstration: first a healthy one, then one fault after
/// another.
struct DoctorTests {
    private func doctor(_ installation: DemonstratedInstallation, _ arguments: [String]) async throws
        -> Answer
    {
        let all =
            ["doctor", "--kafka-brokers", installation.broker, "--tokens-sealing-keys-file"]
            + [installation.sealingKeys] + arguments
        let process = try ChildProcess(builtProductPath(named: "flotilla"), arguments: all)
        return Answer(status: try await process.exitStatus(), output: process.output, errors: process.errors)
    }

    @Test func `the doctor checks a whole installation and each app's key, and reports what is wrong`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let installation = try await DemonstratedInstallation(in: directory)
        let keys = try installation.senderKeys(in: directory)
        let push = [
            "--sender-keys", keys, "--sender-apns-production", installation.apns, "--sender-apns-authorities",
            installation.authorities,
        ]
        let well = try await doctor(installation, push)
        #expect(well.status == 0, "\(well)")
        for line in [
            "good   descriptors", "good   kafka", "good   topics", "good   clock", "good   sealing keys",
            "good   provider keys",
        ] {
            #expect(well.output.contains(line), "\(line): \(well.output)")
        }
        #expect(well.output.contains(#/good +apns com.example.scores production +takes the key FLOTILLA01/#))
        #expect(well.output.contains(#/doubt +app demo +anyone who extracts the report key/#))

        let found = try await flotilla(
            "doctor", "--kafka-brokers", installation.broker, "--no-push", "--up-data",
            installation.dataDirectory)
        #expect(found.status == 0 && found.output.contains("good   sealing keys"), "\(found)")

        let unsealed = try await flotilla("doctor", "--kafka-brokers", installation.broker, "--no-push")
        #expect(
            unsealed.status == ExitCode.configuration && unsealed.output.contains("tokens.sealing-keys-file"),
            "\(unsealed)")

        let unsigned = try await doctor(
            installation, ["--sender-keys", directory.path, "--no-push", "--json"])
        #expect(unsigned.status == ExitCode.configuration, "\(unsigned)")
        #expect(unsigned.output.contains(#""subject":"app demo","verdict":"wrong""#), "\(unsigned.output)")

        let elsewhere = try await doctor(
            installation, ["--sender-keys", keys, "--sender-apns-production", "127.0.0.1:1"])
        #expect(elsewhere.status == ExitCode.configuration, "\(elsewhere)")
        #expect(elsewhere.output.contains(#/wrong +apns .* no answer/#), "\(elsewhere.output)")

        let topics = try await doctor(installation, ["--topics-lanes", "6", "--no-push"])
        #expect(
            topics.status == ExitCode.configuration
                && topics.output.contains("has 12 partitions, 6 are needed"), "\(topics)")
    }

    @Test func `the doctor reports a missing broker and continues with the other checks`() async throws {
        let answer = try await flotilla("doctor", "--kafka-brokers", "127.0.0.1:1")
        #expect(answer.status == ExitCode.configuration)
        #expect(answer.output.contains(#/wrong +kafka +does not answer at 127.0.0.1:1/#), "\(answer)")
        #expect(answer.output.contains(#/doubt +provider keys/#), "\(answer)")
    }
}
