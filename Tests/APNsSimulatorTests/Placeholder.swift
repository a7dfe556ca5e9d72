enum APNsSimulatorTestsPlaceholder {}
