/**
 * Owns the table over which the scenarios run: store × temperature × face. Nothing else decides in which worlds a
 * scenario is tried; where one cannot apply, the scenario says why, and must leave others.
 */
import { test } from 'vitest';
import { openScene, type Plan, type Scene } from './scene.ts';
import { prepareStages, type StoreName } from './stages.ts';

export interface World {
  readonly name: string;
  readonly store: StoreName;
  /**
   * warm: the Agent object that began the run decides. cold: each decision comes from a new Agent object in a new
   * registry (with a database: on a new handle of it), and passes no options. cold with options: passes them again.
   */
  readonly temperature: 'warm' | 'cold' | 'cold with options';
  readonly face: 'stream' | 'generate';
}

const faces = ['stream', 'generate'] as const;

function worldsOf(store: StoreName, temperatures: readonly World['temperature'][]): World[] {
  return temperatures.flatMap((temperature) =>
    faces.map((face) => ({ name: `${store}, ${temperature}, ${face}`, store, temperature, face })),
  );
}

/** All sixteen. What differs between databases is what a new handle finds, so the last two are tried cold only. */
export const worlds: readonly World[] = [
  ...worldsOf('memory', ['warm', 'cold', 'cold with options']),
  ...worldsOf('sqlite', ['warm', 'cold', 'cold with options']),
  ...worldsOf('libsql', ['cold']),
  ...worldsOf('postgres', ['cold']),
];

/** The world of a test that needs no table. */
export const plainWorld: World = {
  name: 'memory, warm, stream',
  store: 'memory',
  temperature: 'warm',
  face: 'stream',
};

/** The kind of fault that a test shows to be impossible, as it stands in the test's name. */
export type Scenario = `scenario: K${number}`;

export type Open = (plan: Plan) => Scene;

/** Why a scenario has no meaning in a world, or nothing where it has. */
export type Except = (world: World) => string | undefined;

/**
 * Runs a scenario in every world.
 */
export function inEveryWorld(
  scenario: Scenario,
  name: string,
  body: (open: Open, world: World) => Promise<void>,
  except: Except = () => undefined,
): void {
  const applying = worlds.filter((world) => except(world) === undefined);
  test.for(applying)(`${scenario} ${name}, $name`, (world) => play(world, body));
}

async function play(world: World, body: (open: Open, world: World) => Promise<void>): Promise<void> {
  const openStage = await prepareStages(world.store);
  await body((plan) => openScene(world, plan, openStage()), world);
}

/** Runs a scenario once, where the world makes no difference or is part of the scenario itself. */
export function inOneWorld(
  scenario: Scenario,
  name: string,
  body: (open: Open, world: World) => Promise<void>,
  world: World = plainWorld,
): void {
  test(`${scenario} ${name}`, () => play(world, body));
}

/** Runs a scenario by stream and by generate where store and restarts make no difference. */
export function inBothFaces(
  scenario: Scenario,
  name: string,
  body: (open: Open, world: World) => Promise<void>,
): void {
  for (const world of worlds.filter(
    ({ store, temperature }) => `${store} ${temperature}` === 'memory warm',
  )) {
    inOneWorld(scenario, `${name}, ${world.face}`, body, world);
  }
}
